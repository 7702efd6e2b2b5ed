#include "service/plan.h"

#include <fmt/format.h>

namespace orrery::service {

namespace {

constexpr plan::Objective kObjectives[] = {plan::Objective::kWait, plan::Objective::kRho, plan::Objective::kFirstEnd};

}  // namespace

const Fields<PlanRequest>& plan_fields() {
  using P = PlanRequest;
  static const auto kFields =
      Fields<P>()
          .add(&P::jobs, text_option("jobs", "", "list of jobs to rent machines for").in("JOBS").word())
          .add(&P::instance,
               text_option("instance", "", "one planning decision: jobs, VM types and prices (docs/guide/plan.md)")
                   .in("FILE"))
          .add(&P::objective,
               choice_option("objective", "wait", {"wait", "rho", "first_end"},
                             "how the cost of a postponed job of the instance is computed"),
               named_values(kObjectives))
          .add(&P::planner, planner_fields("60s"))
          .add(&P::listing, listing_fields())
          .add(&P::replan,
               duration_option("replan", "30m", "plan again after this long without an event").bounds(1, 1e7))
          .add(&P::horizon, horizon_fields());
  return kFields;
}

Result<PlanAnswer> plan(env::Env env, const PlanRequest& request) {
  const FieldNames& names = request.names;
  if (request.jobs.empty() == request.instance.empty())
    return Error::invalid(fmt::format("give a list of jobs, or an instance with {} FILE", names("instance")));
  if (request.jobs.empty()) return plan_instance(env, request.instance, request.objective, request.planner);
  if (request.horizon.horizon)
    return plan_within(env, request.jobs, request.listing, request.horizon, request.planner, names);
  return plan_over_time(env, request.jobs, request.listing, request.replan, request.planner, names);
}

std::string plan_json(const PlanAnswer& answer) {
  return std::visit([](const auto& planned) { return to_json(planned); }, answer);
}

std::string plan_text(const PlanAnswer& answer) {
  return std::visit([](const auto& planned) { return to_text(planned); }, answer);
}

std::string plan_gantt(const PlanAnswer& answer) {
  if (const auto* planned = std::get_if<PlannedJobs>(&answer)) return to_gantt(*planned);
  if (const auto* planned = std::get_if<PlannedHorizon>(&answer)) return to_gantt(*planned);
  return {};
}

Result<Table> explain_plan(const PlanAnswer& answer, const std::string& job) {
  return std::visit([&](const auto& planned) { return explain(planned, job); }, answer);
}

}  // namespace orrery::service
