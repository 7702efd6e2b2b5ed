// Any bytes are an instance or an error that can be printed. What was read has a plan that the checker accepts, within
// its bound.

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "env/sim_env.h"
#include "expect.h"
#include "plan/checker.h"
#include "plan/planner.h"

using namespace orrery;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto instance = plan::read_instance(text, "f");
  if (!instance) {
    expect(instance.error().message().starts_with("f:") && is_printable(instance.error().message()));
    return 0;
  }
  env::SimEnv sim;
  for (const auto objective : {plan::Objective::kWait, plan::Objective::kRho}) {
    const auto report = plan::make_plan(*instance, objective, {.heuristic_only = true}, sim.env());
    expect(report.has_value());
    expect(plan::check_claim(*instance, objective, report->plan, report->cost.total_usd()).has_value());
    expect(report->bound_usd >= 0 && report->bound_usd <= report->objective_usd);
    expect(report->objective_usd <= report->greedy_usd);
  }
  return 0;
}
