#pragma once
// A list of jobs within a horizon: machines rented and given back period by period.

#include "service/horizon_report.h"
#include "service/planners.h"

namespace orrery::service {

struct HorizonFields {
  std::optional<Seconds> horizon;  // nothing: machines are rented for each job as it comes
  Seconds period;
  std::optional<double> certainty;
  plan::horizon::CostBasis cost{};
  int scenarios = 0;
  std::uint64_t seed = 1;

  friend bool operator==(const HorizonFields&, const HorizonFields&) = default;
};
const Fields<HorizonFields>& horizon_fields();

// Precondition: `fields` has a horizon.
Result<PlannedHorizon> plan_within(env::Env env, const std::string& list, const ListingFields& listing,
                                   const HorizonFields& fields, const PlannerFields& planner, const FieldNames& names);

}  // namespace orrery::service
