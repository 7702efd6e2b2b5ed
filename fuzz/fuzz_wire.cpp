// Any bytes of a connection between hosts give a value that encodes back to the same bytes, or an error.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "elastic/net/wire.h"

namespace {

using namespace orrery::elastic::net;

template <class Value>
void require_same(const orrery::Result<Value>& value, std::span<const std::byte> bytes) {
  if (!value) {
    if (value.error().message().empty()) std::abort();
    return;
  }
  const auto encoded = encode(*value);
  if (!std::equal(encoded.begin(), encoded.end(), bytes.begin(), bytes.end())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  HandshakeBytes handshake{};
  std::memcpy(handshake.data(), data, std::min(size, handshake.size()));
  require_same(decode_handshake(handshake), handshake);

  ChallengeBytes challenge{};
  std::memcpy(challenge.data(), data, std::min(size, challenge.size()));
  if (const auto nonce = decode_challenge(challenge); nonce && encode_challenge(*nonce) != challenge) std::abort();

  FrameHeader header;
  std::memcpy(static_cast<void*>(&header), data, std::min(size, kHeaderBytes));
  const WireLimits limits = {.generation = 1, .ranks = 4, .data_bytes = 1 << 20, .early_bytes = 1 << 16};
  const orrery::Status status = check(header, limits);
  if (!status && status.error().message().empty()) std::abort();
  if (status && (header.length > limits.data_bytes || header.credit > limits.early_bytes || header.generation != 1)) {
    std::abort();
  }

  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  require_same(decode_announcement(bytes.first(std::min(size, kAnnouncementBytes)), 4, 8),
               bytes.first(std::min(size, kAnnouncementBytes)));
  require_same(decode_pull(bytes.first(std::min(size, kPullBytes))), bytes.first(std::min(size, kPullBytes)));
  require_same(decode_pull_answer(bytes.first(std::min(size, kPullAnswerBytes))),
               bytes.first(std::min(size, kPullAnswerBytes)));
  return 0;
}
