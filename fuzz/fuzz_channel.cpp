// Any bytes at either end of a new connection end the handshake or leave it waiting; none of them opens it, because they
// cannot prove the secret. Any stream of bytes is cut into frames, or refused.

#include <cstdint>
#include <cstdlib>

#include "env/channel/channel.h"

namespace {

using namespace orrery::env;

std::string challenge() {
  return std::string(kChallengeBytes, 'c');
}

void require_closed(Handshake handshake, std::string_view frame) {
  const orrery::Status taken = handshake.take(frame);
  if (!taken && taken.error().message().empty()) std::abort();
  if (handshake.state() == Handshake::State::kOpen) std::abort();
  if (!handshake.connects() && handshake.has_keys()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Credentials secret{.secret = "a secret that nothing in the input follows from"};
  Handshake listens = Handshake::of_listening(secret, challenge());
  Handshake greeted = Handshake::of_connecting(secret, challenge(), "about");
  if (!greeted.take(listens.take_frames().front())) std::abort();
  require_closed(listens, bytes);
  require_closed(greeted, bytes);
  require_closed(Handshake::of_connecting(secret, challenge(), "about"), bytes);

  FrameSplitter splitter;
  for (std::size_t at = 0; at < size; at += 7) {
    splitter.push(bytes.substr(at, 7));
    for (auto frame = splitter.take(1000); frame && *frame; frame = splitter.take(1000)) {
      if ((*frame)->size() > 1000) std::abort();
    }
  }
  return 0;
}
