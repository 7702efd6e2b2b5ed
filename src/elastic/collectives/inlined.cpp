#include "elastic/collectives/inlined.h"

#include <array>

#include "base/check.h"
#include "elastic/reduce/kernels.h"

namespace orrery::elastic {

namespace {

// Combines slice `range` of all payloads into the same place of the output.
void combine(const Descriptor& descriptor, std::span<const std::span<const std::byte>> payloads, Range range,
             const Buffers& buffers) {
  std::array<const void*, kReduceInputsMax> inputs{};
  for (std::size_t rank = 0; rank < payloads.size(); ++rank) inputs[rank] = payloads[rank].data() + range.begin;
  void* const output = buffers.output + range.begin;
  reduce(descriptor.type, descriptor.op, std::span(inputs).first(payloads.size()), {&output, 1},
         range.size() / element_bytes(descriptor.type));
}

}  // namespace

std::uint64_t inline_bytes(const Descriptor& descriptor, int rank) {
  switch (descriptor.collective) {
    case Collective::kBroadcast:
      return rank == descriptor.root ? descriptor.bytes() : 0;
    case Collective::kGather:
      return rank == descriptor.root ? 0 : descriptor.bytes();
    case Collective::kBarrier:
      return 0;
    default:
      return descriptor.bytes();
  }
}

std::span<const std::byte> inline_payload(const Descriptor& descriptor, int rank, const Buffers& buffers) {
  return {buffers.input, inline_bytes(descriptor, rank)};
}

void finish_inlined(const Descriptor& descriptor, int rank, std::span<const std::span<const std::byte>> payloads,
                    const Buffers& buffers) {
  const int ranks = static_cast<int>(payloads.size());
  if (descriptor.bytes() == 0) return;
  switch (descriptor.collective) {
    case Collective::kAllReduce:
      return combine(descriptor, payloads, {0, descriptor.bytes()}, buffers);
    case Collective::kReduceScatter:
      return combine(descriptor, payloads, owned(descriptor, rank, ranks), buffers);
    case Collective::kReduce:
      if (rank == descriptor.root) combine(descriptor, payloads, {0, descriptor.bytes()}, buffers);
      return;
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kBroadcast:
      if (!receives(descriptor, rank)) return;
      for (int from = 0; from < ranks; ++from) {
        const Range place = published(descriptor, from, ranks);
        const std::byte* const source = from == rank ? buffers.input : payloads[static_cast<std::size_t>(from)].data();
        if (place.size() > 0 && source != buffers.output + place.begin) {
          copy(buffers.output + place.begin, source, place.size());
        }
      }
      return;
    case Collective::kBarrier:
    case Collective::kConsensus:
      return;
  }
}

}  // namespace orrery::elastic
