#pragma once
// An instance without the jobs that run on several machines: heuristics for the others need not handle them.

#include <span>

#include "plan/instance.h"
#include "plan/linear_costs.h"
#include "plan/plan.h"

namespace orrery::plan {

// Some jobs have their machines; the others share the rest.
struct Reduced {
  Instance instance;              // without them, and without jobs that can only run on several machines
  std::vector<std::size_t> jobs;  // of the whole instance, by job of the reduced one
  std::vector<Node> taken;        // machines of those that have theirs

  // The plan of the whole instance that corresponds to a plan of the reduced one.
  Plan whole(const Plan& plan) const;
};

// Precondition: the spreads are of different jobs, and the limits allow them together.
Reduced reduced(const Instance& instance, std::span<const Spread> given);

// Spreads of different jobs that fit together, each the best of its job: those that save most against waiting first.
std::vector<Spread> promising_spreads(const LinearCosts& costs);

}  // namespace orrery::plan
