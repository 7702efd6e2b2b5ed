#include "elastic/collectives/descriptor.h"

#include <algorithm>
#include <fmt/format.h>

namespace orrery::elastic {

std::string_view to_string(Collective collective) {
  constexpr std::string_view kNames[] = {"all-reduce", "reduce-scatter", "reduce",  "all-gather",
                                         "gather",     "broadcast",      "barrier", "consensus"};
  return kNames[static_cast<std::size_t>(collective)];
}

std::string to_string(const Descriptor& descriptor) {
  std::string text(to_string(descriptor.collective));
  if (descriptor.collective == Collective::kBarrier || descriptor.collective == Collective::kConsensus) return text;
  text += fmt::format(" of {} {}", descriptor.count, to_string(descriptor.type));
  if (reduces(descriptor.collective)) text += fmt::format(", {}", to_string(descriptor.op));
  if (has_root(descriptor.collective)) text += fmt::format(", root {}", descriptor.root);
  return text;
}

Status check(const Descriptor& descriptor, int ranks) {
  if (descriptor.collective > Collective::kConsensus) {
    return Error::invalid(fmt::format("unknown operation {}", static_cast<int>(descriptor.collective)));
  }
  if (descriptor.type > DataType::kI64) {
    return Error::invalid(fmt::format("unknown data type {}", static_cast<int>(descriptor.type)));
  }
  if (descriptor.op > ReduceOp::kMax) {
    return Error::invalid(fmt::format("unknown way to combine {}", static_cast<int>(descriptor.op)));
  }
  if (descriptor.root >= ranks) return Error::invalid(fmt::format("root {} of {} ranks", descriptor.root, ranks));
  if (descriptor.count > kTensorBytesMax / element_bytes(descriptor.type)) {
    return Error::invalid(fmt::format("a tensor of {} elements; at most {} bytes", descriptor.count, kTensorBytesMax));
  }
  return {};
}

Range slice_of(std::uint64_t count, int rank, int ranks) {
  constexpr std::uint64_t kUnit = 64;
  const std::uint64_t units = (count + kUnit - 1) / kUnit;
  const auto cut = [&](int at) {
    const std::uint64_t unit = units * static_cast<std::uint64_t>(at) / static_cast<std::uint64_t>(ranks);
    return std::min(count, unit * kUnit);
  };
  return {cut(rank), cut(rank + 1)};
}

Range owned(const Descriptor& descriptor, int rank, int ranks) {
  if (!reduces(descriptor.collective)) return {};
  const Range slice = slice_of(descriptor.count, rank, ranks);
  const std::uint64_t size = element_bytes(descriptor.type);
  return {slice.begin * size, slice.end * size};
}

Range published(const Descriptor& descriptor, int rank, int ranks) {
  const std::uint64_t bytes = descriptor.bytes();
  const auto at = static_cast<std::uint64_t>(rank);
  switch (descriptor.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return owned(descriptor, rank, ranks);
    case Collective::kAllGather:
    case Collective::kGather:
      return {at * bytes, (at + 1) * bytes};
    case Collective::kBroadcast:
      return rank == descriptor.root ? Range{0, bytes} : Range{};
    case Collective::kReduceScatter:
    case Collective::kBarrier:
    case Collective::kConsensus:
      return {};
  }
  return {};
}

bool receives(const Descriptor& descriptor, int rank) {
  switch (descriptor.collective) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
      return true;
    case Collective::kReduce:
    case Collective::kGather:
      return rank == descriptor.root;
    case Collective::kBroadcast:
      return rank != descriptor.root;
    case Collective::kReduceScatter:
    case Collective::kBarrier:
    case Collective::kConsensus:
      return false;
  }
  return false;
}

}  // namespace orrery::elastic
