#include "elastic/collectives/direct.h"

#include <algorithm>
#include <array>

#include "elastic/reduce/kernels.h"

namespace orrery::elastic {

namespace {

constexpr std::uint64_t kStepBytes = 256 << 10;

}  // namespace

bool can_be_direct(const Descriptor& descriptor, const std::vector<std::uint64_t>& places) {
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const bool is_root = has_root(descriptor.collective) && rank == descriptor.root;
    const bool is_read = descriptor.collective == Collective::kBroadcast ? is_root
                         : descriptor.collective == Collective::kGather  ? !is_root
                                                                         : true;
    if (is_read && places[rank] == kPrivatePlace) return false;
  }
  return true;
}

void Direct::begin(const Descriptor& descriptor, const Buffers& buffers, int rank,
                   const std::vector<std::uint64_t>& places) {
  descriptor_ = descriptor;
  buffers_ = buffers;
  rank_ = rank;
  ranks_ = static_cast<int>(places.size());
  places_ = places;
  told_ = false;
  awaited_ = 0;
  copy_from_ = 0;
  if (reduces(descriptor.collective)) {
    work_ = owned(descriptor, rank, ranks_);
  } else {
    work_ = {0, descriptor.bytes()};
    if (!receives(descriptor, rank)) copy_from_ = ranks_;
  }
  // The ranks that read our tensor; where results are written to it, the same ranks write them.
  for (int other = 0; other < ranks_; ++other) {
    if (other == rank) continue;
    const bool touches_ours = descriptor.collective == Collective::kBroadcast ? rank == descriptor.root
                              : descriptor.collective == Collective::kGather
                                  ? rank != descriptor.root && other == descriptor.root
                                  : true;
    if (touches_ours) awaited_ |= 1ULL << other;
  }
}

bool Direct::combine_some(Endpoint& endpoint) {
  if (work_.size() == 0) return false;
  const std::uint64_t bytes = std::min(kStepBytes, work_.size());
  std::array<const void*, kReduceInputsMax> inputs{};
  std::array<void*, kReduceInputsMax> outputs{};
  std::size_t outputs_count = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    std::byte* const at = endpoint.at_place(places_[static_cast<std::size_t>(rank)]) + work_.begin;
    inputs[static_cast<std::size_t>(rank)] = at;
    const bool gets_it = descriptor_.collective == Collective::kAllReduce ||
                         (descriptor_.collective == Collective::kReduce ? rank == descriptor_.root : rank == rank_);
    if (gets_it) outputs[outputs_count++] = at;
  }
  reduce(descriptor_.type, descriptor_.op, std::span(inputs).first(static_cast<std::size_t>(ranks_)),
         std::span(outputs).first(outputs_count), bytes / element_bytes(descriptor_.type));
  work_.begin += bytes;
  return true;
}

bool Direct::copy_some(Endpoint& endpoint) {
  while (copy_from_ < ranks_) {
    const Range place = published(descriptor_, copy_from_, ranks_);
    if (work_.size() == 0 || place.size() == 0) {
      ++copy_from_;
      work_ = {0, descriptor_.bytes()};
      continue;
    }
    const std::byte* const source =
        copy_from_ == rank_ ? buffers_.input : endpoint.at_place(places_[static_cast<std::size_t>(copy_from_)]);
    const std::uint64_t bytes = std::min(kStepBytes, work_.size());
    std::byte* const target = buffers_.output + place.begin + work_.begin;
    if (target != source + work_.begin) copy(target, source + work_.begin, bytes);
    work_.begin += bytes;
    return true;
  }
  return false;
}

bool Direct::advance(Endpoint& endpoint, const Frame& name, const Staged::Probe& probe) {
  if (told_) return false;
  if (reduces(descriptor_.collective) ? combine_some(endpoint) : copy_some(endpoint)) {
    if (probe) probe(CutPoint::kDirectHalf);
    return true;
  }
  Frame frame = name;
  frame.kind = FrameKind::kDone;
  told_ = endpoint.send(frame);
  if (told_ && probe) probe(CutPoint::kDone);
  return told_;
}

}  // namespace orrery::elastic
