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
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto introduction = orrery::decode<Introduction>(text);
      introduction && orrery::encode(*introduction) != text) {
    std::abort();
  }
  if (const auto answer = orrery::decode<Answer>(text); answer && orrery::encode(*answer) != text) std::abort();

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
