#pragma once
// The description of an operation. All ranks must describe an operation of the same name in the same way.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "elastic/tensor.h"

namespace orrery::elastic {

enum class Collective : std::uint8_t {
  kAllReduce,      // every rank gets the combination of all tensors
  kReduceScatter,  // rank r gets slice r of the combination
  kReduce,         // the root gets the combination
  kAllGather,      // every rank gets all tensors, in rank order
  kGather,         // the root gets all tensors, in rank order
  kBroadcast,      // every rank gets the root's tensor
  kBarrier,        // returns when all ranks have reached it
  kConsensus,      // every rank learns whether all gave the same bytes
};
std::string_view to_string(Collective collective);

inline constexpr std::uint64_t kTensorBytesMax = 1ULL << 44;
// A consensus compares digests of this size.
inline constexpr std::size_t kDigestBytes = 16;

struct Descriptor {
  Collective collective = Collective::kBarrier;
  DataType type = DataType::kF32;
  ReduceOp op = ReduceOp::kSum;  // kSum where nothing is combined
  std::uint16_t root = 0;        // 0 where there is none
  std::uint64_t count = 0;       // elements of each rank's tensor

  std::uint64_t bytes() const { return count * element_bytes(type); }
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

// "all-reduce of 1000 f32, sum".
std::string to_string(const Descriptor& descriptor);
// Known values, a root that exists, at most kTensorBytesMax.
Status check(const Descriptor& descriptor, int ranks);

inline bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}
inline bool has_root(Collective collective) {
  return collective == Collective::kReduce || collective == Collective::kGather || collective == Collective::kBroadcast;
}

// A range of bytes.
struct Range {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Slice `rank` of `ranks` of a tensor, in elements: nearly equal, in rank order, cut at multiples of 64 elements so
// that no two slices share a cache line. If the tensor is short, the slices of the last ranks are empty.
Range slice_of(std::uint64_t count, int rank, int ranks);

// The part that rank `rank` combines, in bytes of the tensor; empty where nothing is combined.
Range owned(const Descriptor& descriptor, int rank, int ranks);
// The part that rank `rank` gives to the receiving ranks, in bytes of their output.
Range published(const Descriptor& descriptor, int rank, int ranks);
// Whether rank `rank` receives what others publish.
bool receives(const Descriptor& descriptor, int rank);

}  // namespace orrery::elastic
