#include "workload/import/batch_axis.h"

namespace orrery::workload::import {

BatchPlace batch_after_reshape(std::span<const std::int64_t> from, BatchPlace place, std::span<const std::int64_t> to,
                               std::int64_t batch) {
  BatchPlace result;
  if (place.axis < 0) return result;
  std::int64_t stride = place.inner;
  for (const std::int64_t dim : from.subspan(static_cast<std::size_t>(place.axis) + 1)) stride *= dim;
  std::int64_t suffix = 1;
  for (std::size_t i = to.size(); i-- > 0; suffix *= to[i]) {
    if (suffix > stride || stride % suffix != 0) continue;
    const std::int64_t inner = stride / suffix;
    if (inner > to[i] / batch || to[i] % (inner * batch) != 0) continue;
    // With a batch of 1 a dimension of 1 at the same stride is the batch; otherwise it went into the one it was
    // merged with, which is the first found from the right.
    const bool is_exact = inner == 1 && to[i] == batch;
    if (result.axis >= 0 && !is_exact) continue;
    if (result.axis >= 0 && result.inner == 1 && static_cast<int>(i) != place.axis) continue;
    result = {static_cast<int>(i), inner};
  }
  return result;
}

}  // namespace orrery::workload::import
