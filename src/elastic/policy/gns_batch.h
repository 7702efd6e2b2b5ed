#pragma once
// Grows the batch with the gradient noise scale (S. McCandlish et al. 2018; KungFu's adaptive batch, OSDI'20).
//
// Assumptions: far below the noise scale a larger batch saves steps almost in proportion; above it, it saves none.
// Procedure, every `every` steps:
//   1. If the noise scale is above `factor` times the batch, propose twice the batch, at most `batch_max`.
//   2. Otherwise propose nothing: batches never shrink, because noise grows over a training.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

struct GnsBatchOptions {
  double batch_max = 1024;
  double factor = 2;
  std::uint64_t every = 100;  // steps
};

class GnsBatch : public Policy {
 public:
  explicit GnsBatch(const GnsBatchOptions& options) : options_(options) {}
  std::string name() const override { return "gns"; }
  Proposal after_step(const Observation& observation) override;

 private:
  GnsBatchOptions options_;
};

}  // namespace orrery::elastic
