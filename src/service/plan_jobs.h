#pragma once
// A list of jobs over time: machines are rented as jobs come, by a plan made anew at every event.

#include "base/table.h"
#include "plan/milp_policy.h"
#include "service/listed_jobs.h"
#include "service/planners.h"
#include "simulate/rent_report.h"

namespace orrery::service {

struct PlannedJobs {
  plan::Market market;
  plan::MarketJobs jobs;  // by submission
  simulate::RentRun run;
  double bound_usd = 0;
  PredictedTimes predicted;
  plan::MilpPolicyStats stats;
  Seconds time;  // that planning took

  double total_usd() const { return run.bill.total_usd(); }
  double gap() const { return total_usd() > 0 ? std::max(0.0, 1 - bound_usd / total_usd()) : 0; }
};

// Plans again after `replan` without an event.
Result<PlannedJobs> plan_over_time(env::Env env, const std::string& list, const ListingFields& listing, Seconds replan,
                                   const PlannerFields& planner, const FieldNames& names);

std::string to_json(const PlannedJobs& planned);
std::string to_text(const PlannedJobs& planned);
std::string to_gantt(const PlannedJobs& planned);
// What every machine would cost one job that has it alone from its submission on, and where the job was.
Result<Table> explain(const PlannedJobs& planned, const std::string& id);

}  // namespace orrery::service
