#include "service/planners.h"

#include "env/terminal.h"

namespace orrery::service {

Fields<PlannerFields> planner_fields(std::string time_limit) {
  using P = PlannerFields;
  return Fields<P>()
      .add(&P::time_limit,
           duration_option("time-limit", std::move(time_limit), "time limit for making a plan").bounds(0.01, 86400))
      .add(&P::heuristic, flag_option("heuristic", "do not run the MILP solver: a heuristic plan and its bound only"));
}

plan::PlannerOptions planner_options(env::Env env, const PlannerFields& fields) {
  plan::PlannerOptions how;
  how.limit = fields.time_limit;
  how.solver = env.variables.get("ORRERY_CBC").value_or("cbc");
  how.scratch = env.variables.get("TMPDIR").value_or("/tmp");
  how.heuristic_only = fields.heuristic;
  return how;
}

}  // namespace orrery::service
