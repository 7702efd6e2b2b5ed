#pragma once
// Goodput of a data-parallel job: examples per second, counted by how far they bring the training (Qiao et al., Pollux,
// OSDI 2021).
//
//   noise scale    p = M0 · variance / |gradient|²             of gradients at the batch M0 the user chose
//   efficiency     e(M) = (p + M0) / (p + M)                   progress per example, that at M0 being 1
//   step           T = s · A + (A^g + N^g)^(1/g)               s: gradient accumulations before the exchange
//     computing    A = compute + per_example · b               b: examples of one GPU at a time
//     exchange     N = 0 on one GPU, else start + per_replica · max(r − 2, 0), by whether GPUs share a node
//   goodput        M / T · e(M),   M = r · b · (s + 1)
//
// For fixed r and s, T is convex in b with T' ≥ 0: a maximum over affine functions of b with coefficients ≥ 0, which
// (A^g + N^g)^(1/g) is as a norm. So 1 / goodput, a multiple of T · (p / b + r (s + 1)), is a maximum of convex
// functions of b, and halving an interval of whole numbers finds the best b exactly: O(s_max · log b_max) for a
// placement.

#include <cstdint>

#include "base/result.h"

namespace orrery::predict {

// Mean and noise of gradients, as measured while training with `batch` examples per step.
struct GradientStatistics {
  double batch = 1;         // M0
  double squared_norm = 0;  // of the mean gradient, above 0
  double variance = 0;      // of the gradient of a batch, summed over its elements; not negative
};

class StatisticalEfficiency {
 public:
  static Result<StatisticalEfficiency> make(const GradientStatistics& statistics);

  double noise_scale() const { return noise_scale_; }
  double reference_batch() const { return reference_batch_; }
  // In (0, 1] for a batch of at least M0; above 1 below it.
  double at(double batch) const { return (noise_scale_ + reference_batch_) / (noise_scale_ + batch); }

 private:
  double reference_batch_ = 1;
  double noise_scale_ = 0;
};

// Seconds; all coefficients ≥ 0, overlap between 1 (the exchange follows the computing) and 10 (it hides behind it).
struct GoodputStep {
  double compute = 0, per_example = 0;
  double start_between = 0, per_replica_between = 0;  // GPUs of several nodes
  double start_within = 0, per_replica_within = 0;    // of one node
  double overlap = 1;                                 // g
};
Status validate(const GoodputStep& step);

struct GoodputPlacement {
  int nodes = 1;
  int replicas = 1;  // at least one per node
};

struct BatchSplit {
  std::int64_t per_gpu = 1;        // b
  std::int64_t accumulations = 0;  // s
  std::int64_t total(const GoodputPlacement& placement) const {
    return per_gpu * (accumulations + 1) * placement.replicas;
  }
};

// What may be chosen. The total is never below the user's own batch M0.
struct BatchBounds {
  std::int64_t per_gpu_min = 1, per_gpu_max = 1;  // what the model learns with, what memory holds
  std::int64_t total_max = 1;
  std::int64_t accumulations_max = 0;
};

struct Goodput {
  BatchSplit batch{};
  double step_s = 0;
  double examples_per_s = 0;
  double efficiency = 0;
  double goodput = 0;  // examples per second, as good as those at M0
};

// T. Precondition: a valid step and placement, b ≥ 1, s ≥ 0.
double step_seconds(const GoodputStep& step, const GoodputPlacement& placement, const BatchSplit& batch);

Result<Goodput> goodput_of(const GoodputStep& step, const StatisticalEfficiency& efficiency,
                           const GoodputPlacement& placement, const BatchSplit& batch);
// The batch with the highest goodput inside the bounds; of equals the one with fewer accumulations, then the smaller.
// An error if no batch is inside, with the reason.
Result<Goodput> best_goodput(const GoodputStep& step, const StatisticalEfficiency& efficiency,
                             const GoodputPlacement& placement, const BatchBounds& bounds);

}  // namespace orrery::predict
