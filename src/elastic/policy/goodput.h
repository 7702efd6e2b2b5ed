#pragma once
// Chooses workers and batch for the most progress per second (Pollux, OSDI'21, with workers in place of GPUs).
//
// Assumptions: a step with n workers and batch B takes T(n, B) (monitor/step_time_fit.h), and a sample in a batch of B
// contributes (φ + B₀) / (φ + B) of what it contributes in the first batch B₀, with φ the noise scale. So
//
//   goodput(n, B) = B / T(n, B) · (φ + B₀) / (φ + B)
//
// Procedure, every `every` steps:
//   1. Of n - 1, n and n + 1 workers, each with half, the same and twice the batch, within the limits, take the best
//      goodput; on ties the fewest workers, then the smallest batch.
//   2. Propose it if it is better than the present one by the share `gain`. A change that does not bring what was
//      predicted corrects the fit and is taken back.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

struct GoodputOptions {
  double workers_max = 8;
  double batch_max = 4096;
  double gain = 0.05;
  std::uint64_t every = 50;  // steps
};

class Goodput : public Policy {
 public:
  explicit Goodput(const GoodputOptions& options) : options_(options) {}
  std::string name() const override { return "goodput"; }
  Proposal after_step(const Observation& observation) override;

 private:
  GoodputOptions options_;
};

}  // namespace orrery::elastic
