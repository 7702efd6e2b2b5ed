#include <fmt/format.h>

#include "cli/data_folder.h"
#include "lab/commands/commands.h"
#include "lab/experiments/policy_table.h"
#include "lab/lab.h"
#include "schedule/policies.h"

namespace orrery::lab {

using namespace cli;

namespace {

constexpr const char* kPublished =
    "fifo,first-fit,sjf,srtf,srsf,las,gittins,tiresias,drf,tetris,allox,hydra,optimus,equal-share,pollux,sia,"
    "elasticflow,"
    "gandiva,lucid,muri-s,muri-l,gavel,gavel-finish,gavel-makespan,gavel-throughput,gavel-isolated";

// How often ours is ahead of some others, in words.
std::string verdict(const std::vector<PolicyCell>& cells, bool elastic) {
  std::size_t ahead = 0, compared = 0;
  double worst = 0;
  for (const PolicyCell& cell : cells) {
    double best = 0;
    for (std::size_t p = 0; p + 1 < cell.runs.size(); ++p) {
      if (schedule::needs_elastic_jobs(cell.runs[p].policy) != elastic) continue;
      if (best == 0 || cell.runs[p].mean_s < best) best = cell.runs[p].mean_s;
    }
    if (best == 0) continue;
    const double ratio = cell.runs.back().mean_s / best;
    ++compared;
    ahead += ratio <= 0.9 ? 1 : 0;
    worst = std::max(worst, ratio);
  }
  if (compared == 0) return "";
  return fmt::format(
      "against {}: mean completion at least 10 % below the best in {} of {} cells; at worst {:.3f} of it\n",
      elastic ? "elastic policies" : "policies of gangs", ahead, compared, worst);
}

// Where 10 % cannot be won, whoever decides.
std::string room(const std::vector<PolicyCell>& cells) {
  std::size_t closed = 0;
  for (const PolicyCell& cell : cells) {
    double best = 0;
    for (std::size_t p = 0; p + 1 < cell.runs.size(); ++p) {
      if (best == 0 || cell.runs[p].mean_s < best) best = cell.runs[p].mean_s;
    }
    closed += cell.least_mean_s > 0.9 * best ? 1 : 0;
  }
  return fmt::format(
      "without sharing GPUs no policy can be 10 % below the best in {} of {} cells: jobs need that long on all they "
      "can "
      "use\n",
      closed, cells.size());
}

Status run_policies(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(std::vector<RealTrace> traces, read_real_traces(context.env.files, data_folder(context)));
  if (options.given("trace")) {
    const std::vector<std::string> wanted = options.texts("trace");
    std::erase_if(traces, [&](const RealTrace& trace) {
      return std::find(wanted.begin(), wanted.end(), trace.name) == wanted.end();
    });
    if (traces.empty())
      return Error::not_found("none of the traces asked for is there; see docs/results/scheduling.md for names");
  }
  PolicyTableOptions how;
  how.policies = options.texts("policy");
  how.ours = options.text("ours");
  how.jobs_max = static_cast<std::size_t>(options.integer("jobs"));
  how.restart_s = options.duration("restart").value();
  how.prediction_sigma = options.number("prediction-error");
  how.threads = static_cast<int>(options.integer("threads"));
  Progress progress("experiment",
                    static_cast<std::int64_t>(traces.size() * how.loads.size() * (how.policies.size() + 1)),
                    progress_options(context.env, "runs"));
  ORRERY_TRY(const std::vector<PolicyCell> cells, run_policy_table(traces, how, [&] { progress.advance(1); }));
  progress.finish();
  const bool all = options.flag("all");
  ORRERY_TRY_VOID(context.print_table(all ? all_table(cells) : winners_table(cells), options));
  if (for_people(options))
    context.print("\nours " + how.ours + "\n" + verdict(cells, true) + verdict(cells, false) + room(cells));
  return {};
}

}  // namespace

Command experiment_policies_command() {
  return {"experiment policies",
          "",
          0,
          0,
          "every policy on every real trace with two loads: which policy is best, and where ours stands",
          join({text_option("policy", kPublished, "policies to compare with").list(40),
                text_option("ours", "flow", "the policy that is compared"),
                text_option("trace", "", "only these traces").list(40),
                integer_option("jobs", 1000, "jobs to take from the start of each trace").bounds(2, 1'000'000),
                duration_option("restart", "30s", "without work after a suspension, move or change of GPUs"),
                number_option("prediction-error", 0,
                              "error of run times for all policies: standard deviation of its logarithm")
                    .bounds(0, 10),
                flag_option("all", "a row for every policy"),
                integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256)},
               table_options()),
          {"orrery-lab experiment policies", "orrery-lab experiment policies --prediction-error 0.5 --all --csv"},
          run_policies};
}

}  // namespace orrery::lab
