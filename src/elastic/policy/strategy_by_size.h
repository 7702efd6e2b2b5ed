#pragma once
// Synchronous steps with few workers, averaged models with many: the traffic of an exchange grows with the number of
// workers, and local steps exchange less often (KungFu's switch between synchronous SGD and model averaging by cluster
// size).
//
// Procedure, after every step: above `workers_max` propose local steps, otherwise synchronous ones, unless the strategy
// is already the right one.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

class StrategyBySize : public Policy {
 public:
  explicit StrategyBySize(double workers_max) : workers_max_(workers_max) {}
  std::string name() const override { return "strategy-by-size"; }
  Proposal after_step(const Observation& observation) override {
    const char* const wanted = observation.workers > workers_max_ ? kLocalStrategy : kSynchronousStrategy;
    if (observation.strategy == wanted) return {};
    return {{}, wanted};
  }

 private:
  double workers_max_;
};

}  // namespace orrery::elastic
