#pragma once
// One planning decision: jobs that are there now, VM types and prices (docs/guide/plan.md).

#include "base/table.h"
#include "plan/planner.h"
#include "service/planners.h"

namespace orrery::service {

struct PlannedInstance {
  plan::Instance instance;
  plan::Objective objective{};
  plan::PlanReport report;
};

Result<PlannedInstance> plan_instance(env::Env env, const std::string& path, plan::Objective objective,
                                      const PlannerFields& planner);

std::string to_json(const PlannedInstance& planned);
std::string to_text(const PlannedInstance& planned);
// What every configuration would cost one job, and which one was taken.
Result<Table> explain(const PlannedInstance& planned, const std::string& id);

}  // namespace orrery::service
