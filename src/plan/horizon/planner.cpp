#include "plan/horizon/planner.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "env/clock.h"
#include "plan/cbc.h"
#include "plan/horizon/bound.h"
#include "plan/horizon/program.h"
#include "plan/horizon/search.h"

namespace orrery::plan::horizon {

namespace {

constexpr double kBoundWork = 4e8;    // rounds · tasks · modes · periods
constexpr double kSearchWork = 1e10;  // the same
constexpr double kEqual = 1e-9;       // relative; below it costs are the same

double size_of(const Problem& problem) {
  double modes = 0;
  for (const Task& task : problem.tasks) modes += static_cast<double>(task.modes.size());
  return std::max(1.0, modes * problem.periods);
}

class Planner {
 public:
  Planner(const Problem& problem, const PlannerOptions& options, env::Env env)
      : problem_(problem), configurations_(problem), options_(options), env_(env), start_(env.clock.monotonic()) {}

  Result<Report> run() {
    for (const Task& task : problem_.tasks) ORRERY_TRY_VOID(check_alone(problem_, task));
    find_first();
    const int rounds = static_cast<int>(std::clamp(kBoundWork / size_of(problem_), 100.0, 2000.0));
    const Bound bound = lower_bound(problem_, configurations_, best_ ? least_ : configurations_.left_out_usd(), rounds);
    bound_usd_ = bound.usd;
    if (!is_proof()) solve_exactly(bound);
    if (!best_ || left_out(*best_) > 0) return nothing_fits();
    return report();
  }

 private:
  static std::size_t left_out(const Schedule& schedule) {
    return static_cast<std::size_t>(std::count(schedule.starts.begin(), schedule.starts.end(), std::nullopt));
  }
  double counted_usd(const Schedule& schedule) const {
    return cost_of(problem_, schedule).total_usd() +
           static_cast<double>(left_out(schedule)) * configurations_.left_out_usd();
  }
  bool is_proof() const { return best_ && least_ - bound_usd_ <= kEqual * std::max(1e-3, std::fabs(least_)); }
  Seconds left() const { return options_.limit - (env_.clock.monotonic() - start_); }

  bool offer(Schedule schedule) {
    if (!check_schedule(problem_, schedule)) return false;
    const double usd = counted_usd(schedule);
    if (best_ && usd >= least_) return true;
    best_ = std::move(schedule);
    least_ = usd;
    return true;
  }

  bool offer_starts(const std::vector<std::optional<Start>>& starts) {
    return offer({starts, nodes_of(problem_, starts)});
  }

  void find_first() {
    SearchOptions how;
    const double most = std::max(2000.0, 1000.0 * static_cast<double>(problem_.tasks.size()));
    how.rounds = static_cast<int>(std::clamp(kSearchWork / size_of(problem_), 500.0, most));
    const Found plain = search(problem_, configurations_, how);
    greedy_usd_ = plain.greedy_usd < configurations_.left_out_usd() ? plain.greedy_usd : kNever;
    if (offer_starts(plain.starts)) return;
    greedy_usd_ = kNever;  // it breaks a budget
    how.rounds /= 4;
    for (double mu = 0.1; mu < 2e3; mu *= 2) {
      const Problem dear = priced(problem_, mu);
      if (offer_starts(search(dear, Configurations(dear), how).starts)) return;
    }
  }

  void solve_exactly(const Bound& bound) {
    if (options_.heuristic_only) {
      note_ = "no solver was asked";
      return;
    }
    const double room = least_ - bound.usd;
    const Program program(problem_, configurations_, [&](std::size_t task, const Start& start) {
      if (!best_) return true;
      return priced_usd(problem_, configurations_, bound, task, start) - bound.cheapest[task] <= room + kEqual * least_;
    });
    if (program.milp().columns.size() > kColumnsMax) {
      note_ =
          fmt::format("too large for the solver: {} columns, at most {}", program.milp().columns.size(), kColumnsMax);
      return;
    }
    const auto answer = solve_with_cbc(program.milp(), {options_.solver, options_.scratch, left()}, env_);
    if (!answer) {
      note_ = answer.error().to_string();
      return;
    }
    const auto schedule = program.schedule_of(answer->values);
    if (!schedule || !offer(*schedule)) {
      note_ = "cbc: its answer is no schedule";
      return;
    }
    if (!answer->proven) note_ = "cbc: stopped before it had a proof";
    // Schedules that use a configuration that was ruled out cost at least what was known before.
    bound_usd_ = std::max(bound_usd_, std::min(least_, answer->bound + program.constant_usd()));
  }

  // The tasks without a place, and what would give all of them one.
  Error nothing_fits() {
    std::vector<std::string> unplaced;
    for (std::size_t i = 0; best_ && i < best_->starts.size(); ++i)
      if (!best_->starts[i]) unplaced.push_back(problem_.tasks[i].id);
    // Even the best schedule leaves a task out, or the bound does.
    const bool certain = bound_usd_ >= configurations_.left_out_usd() * 0.5 || (best_ && is_proof());
    return Error::infeasible(
        fmt::format("{} {}{}; {}", certain ? "no schedule serves all tasks:" : "no schedule was found for all tasks:",
                    unplaced.empty() ? "the budget is too small" : "there is no capacity for ",
                    fmt::join(unplaced, ", "), remedy()));
  }

  std::string remedy() {
    Problem wide = problem_;
    wide.budgets.clear();
    const Configurations configurations(wide);
    if (const Found found = search(wide, configurations, {.rounds = 500}); found.left_out == 0) {
      const Schedule schedule{found.starts, nodes_of(wide, found.starts)};
      std::string text;
      for (const Budget& budget : problem_.budgets)
        text += fmt::format("{}{}: {:.2f} would do, {:.2f} are allowed", text.empty() ? "" : "; ", budget.name,
                            least_use(budget, used_of(problem_, budget.tariff, schedule)), budget.most);
      return text;
    }
    wide.quotas.clear();
    for (VmType& type : wide.vm_types) type.nodes_max = kNodesMax;
    if (search(wide, configurations, {.rounds = 500}).left_out == 0)
      return "it fits without quotas and limits of VM types";
    wide.nodes = kNodesMax;
    const Found found = search(wide, configurations, {.rounds = 500});
    if (found.left_out > 0) return "a longer horizon is needed";
    std::size_t most = 0;
    for (const auto& nodes : nodes_of(wide, found.starts)) most = std::max(most, nodes.size());
    return fmt::format("nodes: {} machines at once would do, {} are allowed", most, problem_.nodes);
  }

  // The least of a budget that a search finds.
  double least_use(const Budget& budget, double known) const {
    Problem frugal = priced(problem_, 1e3);
    const Found found = search(frugal, Configurations(frugal), {.rounds = 500});
    if (found.left_out > 0) return known;
    return std::min(known, used_of(problem_, budget.tariff, {found.starts, nodes_of(problem_, found.starts)}));
  }

  Result<Report> report() {
    Report report;
    report.schedule = std::move(*best_);
    report.cost = cost_of(problem_, report.schedule);
    ORRERY_TRY_VOID(check_claim(problem_, report.schedule, report.cost.total_usd()));
    report.greedy_usd = greedy_usd_;
    report.proven = is_proof();
    report.bound_usd = std::clamp(bound_usd_, 0.0, std::max(0.0, report.total_usd()));
    report.gap = report.total_usd() > 0 ? (report.total_usd() - report.bound_usd) / report.total_usd() : 0;
    if (!report.proven) report.note = note_;
    report.time = env_.clock.monotonic() - start_;
    return report;
  }

  const Problem& problem_;
  Configurations configurations_;
  const PlannerOptions& options_;
  env::Env env_;
  Seconds start_;
  std::optional<Schedule> best_;
  double least_ = kNever;
  double greedy_usd_ = kNever;
  double bound_usd_ = -kNever;
  std::string note_;
};

}  // namespace

Status check_alone(const Problem& problem, const Task& task) {
  const int first = first_period(problem, task);
  double soonest = kNever;
  int machines = kNodesMax;
  for (const Mode& mode : task.modes) {
    machines = std::min(machines, mode.machines);
    if (mode.machines <= problem.nodes) soonest = std::min(soonest, end_s(problem, mode, task.runs ? 0 : first));
  }
  const auto text = [](double seconds) { return format_seconds(Seconds(seconds)); };
  if (soonest == kNever && !task.modes.empty())
    return Error::infeasible(
        fmt::format("{}: takes {} machines at once, {} may be rented", task.id, machines, problem.nodes));
  if (soonest > problem.end_s() * (1 + 1e-9))
    return Error::infeasible(fmt::format("{}: ends after {} at the earliest, {} after the horizon", task.id,
                                         text(soonest), text(soonest - problem.end_s())));
  if (task.must && soonest > task.due_s)
    return Error::infeasible(fmt::format("{}: due after {}, but ends after {} at the earliest: {} too late", task.id,
                                         text(task.due_s), text(soonest), text(soonest - task.due_s)));
  return {};
}

Result<Report> make_schedule(const Problem& problem, const PlannerOptions& options, env::Env env) {
  return Planner(problem, options, env).run();
}

}  // namespace orrery::plan::horizon
