#pragma once
// Where the batch is in a tensor, and where it goes when the tensor is reshaped.

#include <cstdint>
#include <span>

namespace orrery::workload::import {

// The size importers give to a batch that a file leaves open: a number few other dimensions have.
inline constexpr std::int64_t kOpenBatch = 17;

struct BatchPlace {
  int axis = -1;           // -1: nowhere
  std::int64_t inner = 1;  // elements of that axis per sample
};

// Which dimension of `to` has the batch that `place` has in `from`; nowhere if none has it whole. Both have the same
// number of elements, and no dimension is 0.
BatchPlace batch_after_reshape(std::span<const std::int64_t> from, BatchPlace place, std::span<const std::int64_t> to,
                               std::int64_t batch);

}  // namespace orrery::workload::import
