#pragma once
// Synchronous steps with few members, averaged models with many: what members exchange grows with their number, and
// local steps exchange it less often (KungFu's switch between synchronous SGD and model averaging by cluster size).
//
// Procedure, after every step: above `members_max` propose local steps, otherwise synchronous ones, unless it is so.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

class StrategyBySize : public Policy {
 public:
  explicit StrategyBySize(double members_max) : members_max_(members_max) {}
  std::string name() const override { return "strategy-by-size"; }
  Proposal after_step(const Observation& observation) override {
    const char* const wanted = observation.workers > members_max_ ? kLocalStrategy : kSynchronousStrategy;
    if (observation.strategy == wanted) return {};
    return {{}, wanted};
  }

 private:
  double members_max_;
};

}  // namespace orrery::elastic
