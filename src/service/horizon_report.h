#pragma once
// A schedule over a horizon as a report, for people and for programs.

#include "base/table.h"
#include "plan/horizon/planner.h"
#include "plan/horizon/play.h"
#include "plan/horizon/tariffs.h"
#include "service/listed_jobs.h"

namespace orrery::service {

struct PlannedHorizon {
  plan::horizon::Problem problem;
  plan::horizon::CostBasis basis{};
  std::optional<double> certainty;  // with which deadlines must be kept
  plan::horizon::Report report;
  PredictedTimes predicted{};
  double rent_usd = 0;          // of the schedule, whatever is counted as cost
  std::optional<double> kwh{};  // if the power of all devices is known
  std::optional<double> kgco2{};
  std::vector<plan::horizon::Forecast> forecasts{};
  int scenarios = 0;
  std::uint64_t seed = 1;
  std::optional<plan::horizon::Outlook> outlook{};
};

// One row for every segment of periods in which the same machines hold the same jobs.
Table period_table(const PlannedHorizon& run);
Table task_table(const PlannedHorizon& run);
Table forecast_table(const PlannedHorizon& run);
// Machines over the scenarios: by period, and by VM type.
Table machine_table(const PlannedHorizon& run);
Table type_table(const PlannedHorizon& run);

std::string to_json(const PlannedHorizon& run);
std::string to_text(const PlannedHorizon& run);

// One row for each machine, at most 60; a job stays in its row as long as its machine can be the same.
std::string to_gantt(const PlannedHorizon& run);

// What every mode would cost one job that starts as soon as it can.
Result<Table> explain(const PlannedHorizon& run, const std::string& id);

}  // namespace orrery::service
