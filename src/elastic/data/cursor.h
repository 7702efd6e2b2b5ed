#pragma once
// How far a job has come in its data. The cursor is part of what a step commits, so every sample is used exactly once
// per epoch over the data, even if workers die, join or leave.
//
//   position of step:   [offset, offset + batch), cut at the end of the epoch
//   order of samples:   Permutation of the epoch
//   ranks:              consecutive parts of it, in proportion to the shares of the ranks (which may be uneven)

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "elastic/data/permutation.h"

namespace orrery::elastic {

struct DataCursor {
  std::uint64_t samples = 1;  // in the data set
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;   // complete epochs
  std::uint64_t offset = 0;  // of this epoch, below `samples`

  friend bool operator==(const DataCursor&, const DataCursor&) = default;
};

// Rejects a cursor outside its data set.
Status check(const DataCursor& cursor);

// Positions of the permuted data.
struct DataRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
  friend bool operator==(const DataRange&, const DataRange&) = default;
};

// The samples of a step of `batch`, at least one and at most the remainder of the epoch, and the cursor after it.
DataRange next_batch(const DataCursor& cursor, std::uint64_t batch);
DataCursor advanced(const DataCursor& cursor, std::uint64_t batch);

// The batch cut into consecutive parts, one per rank, in proportion to `shares`, rounded so that every sample is used.
// At least one share is positive.
std::vector<DataRange> split_batch(const DataRange& batch, std::span<const std::uint64_t> shares);

// The order of samples in the cursor's epoch.
Permutation order_of(const DataCursor& cursor);

}  // namespace orrery::elastic
