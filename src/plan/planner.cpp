#include "plan/planner.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "env/clock.h"
#include "plan/cbc.h"
#include "plan/checker.h"
#include "plan/greedy.h"
#include "plan/improve.h"
#include "plan/lagrangian.h"
#include "plan/pattern_milp.h"
#include "plan/reduced.h"
#include "plan/relink.h"

namespace orrery::plan {

namespace {

constexpr double kDualWork = 6e8;  // rounds · jobs · slots
constexpr std::int64_t kComparisonsMax = 20'000'000;
constexpr double kRandomWork = 2e6;  // greedy plans by chance · jobs · slots
constexpr double kWideGap = 0.01;
constexpr int kRandomTriesMin = 10;
constexpr double kEqual = 1e-9;  // relative; below it costs are the same

int dual_rounds(const LinearCosts& costs) {
  return static_cast<int>(std::clamp(kDualWork / static_cast<double>(costs.job_usd.size()), 200.0, 3000.0));
}

bool is_proof(double cost, double bound) {
  return cost - bound <= kEqual * std::max(1e-3, std::fabs(cost));
}

// Nodes by type and first job, jobs by index: the same plan has one form and its sum one order.
void put_in_order(Plan& plan) {
  for (Node& node : plan.nodes)
    std::sort(node.jobs.begin(), node.jobs.end(), [](const auto& a, const auto& b) { return a.job < b.job; });
  std::sort(plan.nodes.begin(), plan.nodes.end(), [](const Node& a, const Node& b) {
    return a.vm != b.vm ? a.vm < b.vm : a.jobs.front().job < b.jobs.front().job;
  });
}

class Planner {
 public:
  Planner(const Instance& instance, Objective objective, const PlannerOptions& options, env::Env env)
      : instance_(instance), objective_(objective), options_(options), env_(env), start_(env.clock.monotonic()) {}

  Result<PlanReport> run() {
    if (objective_ == Objective::kFirstEnd) ORRERY_TRY_VOID(check_plain());
    if (has_spreads()) {
      solve_with_spreads(linear_costs(instance_, objective_));
      return report();
    }
    Plan greedy = greedy_plan(instance_);
    if (std::isfinite(instance_.budget_usd)) greedy = within_budget(linear_costs(instance_, objective_), greedy);
    if (check_plan(instance_, objective_, greedy)) {
      offer(std::move(greedy));
      greedy_usd_ = best_usd_;
    }
    if (objective_ == Objective::kFirstEnd)
      solve_first_end();
    else
      solve(linear_costs(instance_, objective_));
    if (!best_) return nothing_found();
    return report();
  }

 private:
  // What first_end has no costs for.
  Status check_plain() const {
    const bool pinned =
        std::any_of(instance_.jobs.begin(), instance_.jobs.end(), [](const Job& job) { return job.is_pinned(); });
    if (!pinned && !has_spreads() && instance_.quotas.empty() && std::isinf(instance_.budget_usd)) return {};
    return Error::invalid(
        "first_end knows no pinned jobs, jobs on several machines, quotas or budgets: plan under wait or rho");
  }

  bool has_spreads() const {
    return std::any_of(instance_.jobs.begin(), instance_.jobs.end(),
                       [](const Job& job) { return !job.machines_s.empty(); });
  }

  Seconds left() const { return options_.limit - (env_.clock.monotonic() - start_); }

  // Keeps the plan if it is cheaper than the best so far. Precondition: it keeps the rules.
  void offer(Plan plan) {
    put_in_order(plan);
    const auto cost = static_cast<double>(plan_cost(instance_, objective_, plan).total_usd());
    if (best_ && cost >= best_usd_) return;
    best_ = std::move(plan);
    best_usd_ = cost;
  }

  void offer_improved(const LinearCosts& costs, Plan plan) {
    offer(improve(costs, within_budget(costs, std::move(plan)), kComparisonsMax));
  }

  void solve(const LinearCosts& costs) {
    offer_improved(costs, *best_);
    const Lagrangian dual = lagrangian_bound(costs, best_usd_, dual_rounds(costs));
    for (const Loss loss : {Loss::kOfFirst, Loss::kOfAll}) offer_improved(costs, rounded_plan(costs, dual, loss));
    offer_improved(costs, priced_plan(costs, dual));
    bound_usd_ = dual.bound_usd;
    // Where much is open CBC may well be late; what is found by chance also rules out choices for it.
    const bool open = best_usd_ - bound_usd_ > kWideGap * std::fabs(best_usd_);
    if (open) draw_plans(costs);
    if (!is_proof(best_usd_, bound_usd_)) bound_usd_ = std::max(bound_usd_, solve_exactly(costs, dual));
    if (!open && !is_proof(best_usd_, bound_usd_) && left() > Seconds()) draw_plans(costs);
  }

  // Some jobs have several machines each, none at first, then more and more; the others are planned without them.
  void solve_with_spreads(const LinearCosts& costs) {
    const std::vector<Spread> promising = promising_spreads(costs);
    for (std::size_t count = 0;; count = std::max<std::size_t>(1, 2 * count)) {
      const std::size_t given = std::min(count, promising.size());
      const Reduced left = reduced(instance_, std::span(promising).first(given));
      offer_reduced(left);
      if (count == 0) greedy_usd_ = best_usd_;
      if (given == promising.size()) break;
    }
    const Lagrangian dual = lagrangian_bound(costs, best_usd_, dual_rounds(costs));
    bound_usd_ = dual.bound_usd;
    if (!is_proof(best_usd_, bound_usd_)) bound_usd_ = std::max(bound_usd_, solve_exactly(costs, dual));
  }

  void offer_reduced(const Reduced& left) {
    Plan plan;
    if (left.instance.nodes > 0 && !left.instance.jobs.empty() && !(left.instance.budget_usd < 0)) {
      PlannerOptions how = options_;
      how.heuristic_only = true;
      how.limit = this->left();
      if (const auto report = make_plan(left.instance, objective_, how, env_)) plan = report->plan;
    }
    plan = left.whole(plan);
    if (check_plan(instance_, objective_, plan)) offer(std::move(plan));
  }

  void draw_plans(const LinearCosts& costs) {
    const double affordable = kRandomWork / static_cast<double>(costs.job_usd.size());
    const int tries = static_cast<int>(std::min<double>(options_.random_tries, affordable));
    if (tries >= kRandomTriesMin) offer(relinked_plan(costs, *best_, {.tries = tries}));
  }

  // The bound CBC gives; that of the prices if it gives none.
  double solve_exactly(const LinearCosts& costs, const Lagrangian& dual) {
    if (options_.heuristic_only) {
      note_ = "no solver was asked";
      return dual.bound_usd;
    }
    const std::vector<bool> open = best_ ? open_entries(costs, dual, best_usd_) : std::vector<bool>();
    const PatternMilp pattern(costs, open);
    const CbcOptions cbc{options_.solver, options_.scratch, left()};
    const auto answer = solve_with_cbc(pattern.milp(), cbc, env_);
    if (!answer && answer.error().code() == ErrorCode::kInfeasible) {
      return best_ ? best_usd_ : kNever;  // nothing cheaper than what we have
    }
    if (!answer) {
      error_ = answer.error();
      note_ = answer.error().to_string();
      return dual.bound_usd;
    }
    auto plan = pattern.plan_of(answer->values);
    if (!plan || !check_plan(instance_, objective_, *plan)) {
      note_ = "cbc: its answer is no plan";
      return dual.bound_usd;
    }
    offer(std::move(*plan));
    if (!answer->proven) note_ = "cbc: stopped before it had a proof";
    // Plans that the open entries leave out cost at least what was known before.
    return std::min(best_usd_, answer->bound + pattern.constant_usd());
  }

  void solve_first_end() {
    bound_usd_ = kNever;
    for (const double theta : first_end_times(instance_)) {
      const LinearCosts costs = first_end_costs(instance_, theta);
      const double target = best_ ? best_usd_ : worst_usd(costs);
      const Lagrangian dual = lagrangian_bound(costs, target, dual_rounds(costs));
      double bound = dual.bound_usd;
      if (!best_ || !is_proof(best_usd_, bound)) bound = std::max(bound, solve_exactly(costs, dual));
      bound_usd_ = std::min(bound_usd_, bound);
    }
  }

  // Everything postponed, and all nodes open: no plan of use costs more.
  double worst_usd(const LinearCosts& costs) const {
    double sum = *std::max_element(costs.node_usd.begin(), costs.node_usd.end()) * costs.nodes_max;
    for (const double cost : costs.postponed_usd) sum += cost;
    return sum;
  }

  Error nothing_found() const {
    if (error_) return *error_;
    return Error::infeasible(
        fmt::format("first_end wants at least {} jobs to run (jobs or nodes, whichever are fewer); the limits of "
                    "the VM types do not leave room for them",
                    running_min(instance_, objective_)));
  }

  Result<PlanReport> report() {
    PlanReport report;
    report.plan = std::move(*best_);
    report.cost = plan_cost(instance_, objective_, report.plan);
    ORRERY_TRY_VOID(check_claim(instance_, objective_, report.plan, report.cost.total_usd()));
    report.objective_usd = static_cast<double>(report.cost.total_usd());
    bound_usd_ = std::max(bound_usd_, 0.0);  // no term of a cost is negative
    report.proven = is_proof(report.objective_usd, bound_usd_);
    report.bound_usd = std::min(bound_usd_, report.objective_usd);
    report.gap = report.objective_usd > 0 ? (report.objective_usd - report.bound_usd) / report.objective_usd : 0;
    report.greedy_usd = greedy_usd_;
    if (!report.proven) report.note = note_;
    report.time = env_.clock.monotonic() - start_;
    return report;
  }

  const Instance& instance_;
  Objective objective_;
  const PlannerOptions& options_;
  env::Env env_;
  Seconds start_;
  std::optional<Plan> best_;
  double best_usd_ = kNever;
  double bound_usd_ = -kNever;
  double greedy_usd_ = 0;
  std::string note_;
  std::optional<Error> error_;
};

}  // namespace

Result<PlanReport> make_plan(const Instance& instance, Objective objective, const PlannerOptions& options,
                             env::Env env) {
  return Planner(instance, objective, options, env).run();
}

}  // namespace orrery::plan
