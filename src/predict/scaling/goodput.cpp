#include "predict/scaling/goodput.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/check.h"
#include "predict/regression/overlap_fit.h"

namespace orrery::predict {

namespace {

constexpr double kOverlapMax = 10;
constexpr std::int64_t kBatchMax = 1'000'000'000;
constexpr std::int64_t kAccumulationsMax = 10'000;
constexpr int kReplicasMax = 1'000'000;

double exchange_seconds(const GoodputStep& step, const GoodputPlacement& placement) {
  if (placement.replicas == 1) return 0;
  const double more = std::max(placement.replicas - 2, 0);
  return placement.nodes > 1 ? step.start_between + step.per_replica_between * more
                             : step.start_within + step.per_replica_within * more;
}

Status validate(const GoodputPlacement& placement) {
  if (placement.nodes < 1 || placement.replicas < placement.nodes || placement.replicas > kReplicasMax) {
    return Error::invalid(fmt::format("{} replicas on {} nodes; every node needs one, and there may be {} at most",
                                      placement.replicas, placement.nodes, kReplicasMax));
  }
  return {};
}

Status validate(const BatchSplit& batch) {
  if (batch.per_gpu < 1 || batch.per_gpu > kBatchMax) {
    return Error::invalid(fmt::format("a batch of {} per GPU; it must be between 1 and {}", batch.per_gpu, kBatchMax));
  }
  if (batch.accumulations < 0 || batch.accumulations > kAccumulationsMax) {
    return Error::invalid(
        fmt::format("{} accumulations; there may be 0 to {}", batch.accumulations, kAccumulationsMax));
  }
  return {};
}

Status validate(const BatchBounds& bounds) {
  ORRERY_TRY_VOID(validate(BatchSplit{bounds.per_gpu_min, bounds.accumulations_max}));
  ORRERY_TRY_VOID(validate(BatchSplit{bounds.per_gpu_max, 0}));
  if (bounds.per_gpu_max < bounds.per_gpu_min) {
    return Error::invalid(
        fmt::format("a batch per GPU of {} to {}: no batch is inside", bounds.per_gpu_min, bounds.per_gpu_max));
  }
  return {};
}

// Precondition: all valid.
Goodput measure(const GoodputStep& step, const StatisticalEfficiency& efficiency, const GoodputPlacement& placement,
                const BatchSplit& batch) {
  Goodput found{.batch = batch, .step_s = step_seconds(step, placement, batch)};
  const auto total = static_cast<double>(batch.total(placement));
  found.examples_per_s = total / found.step_s;
  found.efficiency = efficiency.at(total);
  found.goodput = found.examples_per_s * found.efficiency;
  return found;
}

}  // namespace

Result<StatisticalEfficiency> StatisticalEfficiency::make(const GradientStatistics& statistics) {
  if (!(statistics.batch >= 1) || !std::isfinite(statistics.batch)) {
    return Error::invalid("gradients need the batch they were measured at");
  }
  const double ratio = statistics.variance / statistics.squared_norm;
  if (!(statistics.squared_norm > 0) || !(statistics.variance >= 0) || !std::isfinite(ratio * statistics.batch)) {
    return Error::invalid(
        fmt::format("a gradient of squared norm {} and variance {}; the first must be above 0, the "
                    "second not below",
                    statistics.squared_norm, statistics.variance));
  }
  StatisticalEfficiency made;
  made.reference_batch_ = statistics.batch;
  made.noise_scale_ = statistics.batch * ratio;
  return made;
}

Status validate(const GoodputStep& step) {
  for (const double seconds : {step.compute, step.per_example, step.start_between, step.per_replica_between,
                               step.start_within, step.per_replica_within}) {
    if (!(seconds >= 0) || !std::isfinite(seconds)) return Error::invalid("a part of a step below 0 or not finite");
  }
  if (!(step.compute + step.per_example > 0)) return Error::invalid("a step without computing");
  if (!(step.overlap >= 1 && step.overlap <= kOverlapMax)) {
    return Error::invalid(fmt::format("an overlap of {}; it must be between 1 and {}", step.overlap, kOverlapMax));
  }
  return {};
}

double step_seconds(const GoodputStep& step, const GoodputPlacement& placement, const BatchSplit& batch) {
  const double computing = step.compute + step.per_example * static_cast<double>(batch.per_gpu);
  return static_cast<double>(batch.accumulations) * computing +
         overlapped(computing, exchange_seconds(step, placement), step.overlap);
}

Result<Goodput> goodput_of(const GoodputStep& step, const StatisticalEfficiency& efficiency,
                           const GoodputPlacement& placement, const BatchSplit& batch) {
  ORRERY_TRY_VOID(validate(step));
  ORRERY_TRY_VOID(validate(placement));
  ORRERY_TRY_VOID(validate(batch));
  return measure(step, efficiency, placement, batch);
}

Result<Goodput> best_goodput(const GoodputStep& step, const StatisticalEfficiency& efficiency,
                             const GoodputPlacement& placement, const BatchBounds& bounds) {
  ORRERY_TRY_VOID(validate(step));
  ORRERY_TRY_VOID(validate(placement));
  ORRERY_TRY_VOID(validate(bounds));
  const auto least = static_cast<std::int64_t>(std::min(std::ceil(efficiency.reference_batch()), 1e18));
  std::optional<Goodput> best;
  for (std::int64_t s = 0; s <= bounds.accumulations_max; ++s) {
    const std::int64_t together = placement.replicas * (s + 1);
    std::int64_t low = std::max(bounds.per_gpu_min, (least - 1) / together + 1);
    std::int64_t high = std::min(bounds.per_gpu_max, bounds.total_max / together);
    if (low > high) continue;
    const auto at = [&](std::int64_t b) { return measure(step, efficiency, placement, {b, s}); };
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (at(middle).goodput >= at(middle + 1).goodput) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    const Goodput found = at(low);
    if (!best || found.goodput > best->goodput) best = found;
  }
  if (!best) {
    return Error::invalid(fmt::format(
        "no batch of {} to {} per GPU on {} GPUs with up to {} accumulations is between the "
        "job's own {} and {}",
        bounds.per_gpu_min, bounds.per_gpu_max, placement.replicas, bounds.accumulations_max, least, bounds.total_max));
  }
  return *best;
}

}  // namespace orrery::predict
