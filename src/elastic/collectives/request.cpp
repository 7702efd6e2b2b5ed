#include "elastic/collectives/request.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/random.h"

namespace orrery::elastic {

std::array<std::byte, kDigestBytes> digest(std::span<const std::byte> bytes) {
  std::uint64_t chain = mix64(bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    chain = mix64(chain ^ word);
  }
  const std::uint64_t plain = hash64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::array<std::byte, kDigestBytes> both;
  std::memcpy(both.data(), &chain, sizeof chain);
  std::memcpy(both.data() + sizeof chain, &plain, sizeof plain);
  return both;
}

Buffers in_place(const TensorView& tensor) {
  auto* const data = static_cast<std::byte*>(tensor.data);
  return {data, data};
}

Descriptor describe(Collective collective, const ConstTensorView& tensor, ReduceOp op, int root) {
  return {collective, tensor.type, op, static_cast<std::uint16_t>(root), tensor.count};
}

Status check_root(int root, int ranks) {
  if (root >= 0 && root < ranks) return {};
  return Error::invalid(fmt::format("root {} of {} ranks", root, ranks));
}

Status check_output(const ConstTensorView& tensor, const TensorView& all, int ranks) {
  if (all.type != tensor.type || all.count != tensor.count * static_cast<std::size_t>(ranks)) {
    return Error::invalid(fmt::format("room for {} {}; the tensors of {} ranks are {} {}", all.count,
                                      to_string(all.type), ranks, tensor.count * static_cast<std::size_t>(ranks),
                                      to_string(tensor.type)));
  }
  return {};
}

}  // namespace orrery::elastic
