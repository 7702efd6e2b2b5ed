#pragma once
// The fields of planners.

#include "base/fields.h"
#include "plan/planner.h"

namespace orrery::service {

struct PlannerFields {
  Seconds time_limit;
  bool heuristic = false;

  friend bool operator==(const PlannerFields&, const PlannerFields&) = default;
};
// `time_limit` is its default.
Fields<PlannerFields> planner_fields(std::string time_limit);

// With the solver and scratch folder of the environment (ORRERY_CBC, TMPDIR).
plan::PlannerOptions planner_options(env::Env env, const PlannerFields& fields);

}  // namespace orrery::service
