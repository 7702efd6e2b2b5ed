#pragma once
// Which machines to rent for which jobs: for one decision, for a list of jobs over time, or for a list within a horizon.

#include <variant>

#include "service/plan_horizon.h"
#include "service/plan_instance.h"
#include "service/plan_jobs.h"

namespace orrery::service {

struct PlanRequest {
  FieldNames names;
  std::string jobs;      // a list of jobs; empty: an instance
  std::string instance;  // one decision; empty: a list
  plan::Objective objective{};
  PlannerFields planner;
  ListingFields listing;
  Seconds replan;
  HorizonFields horizon;

  friend bool operator==(const PlanRequest&, const PlanRequest&) = default;
};
const Fields<PlanRequest>& plan_fields();

using PlanAnswer = std::variant<PlannedInstance, PlannedJobs, PlannedHorizon>;
Result<PlanAnswer> plan(env::Env env, const PlanRequest& request);

std::string plan_json(const PlanAnswer& answer);
std::string plan_text(const PlanAnswer& answer);
// SVG: which job runs on which machine over time; empty for one decision, which has no time.
std::string plan_gantt(const PlanAnswer& answer);
// What every choice would cost this job, and which was taken. kNotFound: there is no such job.
Result<Table> explain_plan(const PlanAnswer& answer, const std::string& job);

}  // namespace orrery::service
