// Any bytes are a message between workers that encodes back to the same bytes, or an error; any frame of collectives is
// inside its limits or an error; and no message makes a worker fall over.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "elastic/frame.h"
#include "elastic/membership/protocol.h"

namespace {

orrery::elastic::Membership some_membership() {
  orrery::elastic::Membership membership;
  membership.generation = 3;
  membership.progress = {7, {.samples = 100, .offset = 10}};
  for (std::uint32_t i = 1; i <= 3; ++i) membership.workers.push_back({i, i, 0});
  return membership;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery::elastic;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto message = decode_message(bytes);
  if (!message && message.error().message().empty()) std::abort();
  if (message && encode(*message) != bytes) std::abort();
  if (message) {
    MembershipProtocol worker(2, some_membership());
    message->to = 2;
    worker.receive(*message);
    worker.tick();
    if (worker.may_vote()) worker.vote();
    for (const Message& answer : worker.take_messages()) {
      if (!decode_message(encode(answer))) std::abort();
    }
  }
  Frame frame;
  std::memcpy(&frame, data, std::min(size, sizeof frame));
  const FrameLimits limits{.generation = frame.generation,
                           .ranks = 4,
                           .inline_bytes = 4096,
                           .block_bytes = 65536,
                           .blocks = 8,
                           .arenas_bytes = 1 << 20};
  const auto checked = check(frame, limits);
  if (!checked && checked.error().message().empty()) std::abort();
  return 0;
}
