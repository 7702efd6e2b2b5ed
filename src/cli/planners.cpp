#include "cli/planners.h"

#include "env/terminal.h"

namespace orrery::cli {

std::vector<OptionRecord> planner_option_records(const std::string& time_limit) {
  return {duration_option("time-limit", time_limit, "time limit for making a plan").bounds(0.01, 86400),
          flag_option("heuristic", "do not run the MILP solver: a heuristic plan and its bound only")};
}

plan::PlannerOptions planner_options(Context& context, const OptionValues& options) {
  plan::PlannerOptions how;
  how.limit = options.duration("time-limit");
  how.solver = context.env.variables.get("ORRERY_CBC").value_or("cbc");
  how.scratch = context.env.variables.get("TMPDIR").value_or("/tmp");
  how.heuristic_only = options.flag("heuristic");
  return how;
}

}  // namespace orrery::cli
