#pragma once
// Whether a plan can be carried out, and what it costs in whole nano-dollars. Shares no arithmetic with cost.h: every
// term is written down again from docs/reference/planning.md and rounded by itself. Up to 18 billion dollars the sum is
// exact and has no order; beyond, it is so to 19 digits.

#include "plan/cost.h"

namespace orrery::plan {

// kInfeasible: says which rule is broken and by how much.
Result<long double> check_plan(const Instance& instance, Objective objective, const Plan& plan);

// check_plan(), and that its cost is `claimed_usd` up to the rounding of its terms; kInternal if not.
Status check_claim(const Instance& instance, Objective objective, const Plan& plan, long double claimed_usd);

}  // namespace orrery::plan
