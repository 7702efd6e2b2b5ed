#include "plan/planner.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>

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
constexpr int kRoughRounds = 300;     // of prices that begin with those of a similar program
constexpr std::size_t kTogether = 8;  // programs of first_end that are ruled out together
constexpr double kEqual = 1e-9;       // relative; below it costs are the same

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
    if (instance_.jobs.empty()) {
      offer({});
      bound_usd_ = 0;
      return report();
    }
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

  // The bound of CBC; that of the prices if it gives none.
  double solve_exactly(const LinearCosts& costs, const Lagrangian& dual) {
    if (options_.heuristic_only) {
      note_ = "no solver was asked";
      return dual.bound_usd;
    }
    const std::vector<bool> open = best_ ? open_entries(costs, dual, best_usd_) : std::vector<bool>();
    const PatternMilp pattern(costs, open);
    CbcOptions cbc{options_.solver, options_.scratch, left()};
    // One of many programs, of which most hold no plan as good as the best: they need not be solved to the end.
    if (objective_ == Objective::kFirstEnd && best_) cbc.cutoff = best_usd_ - pattern.constant_usd();
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
    // The objective of the program is the difference from the sum that all jobs pay if they wait, which may be so large
    // that cents are lost in the difference.
    const bool exact = answer->proven && !has_spreads();
    const double bound = exact ? total_usd(costs, *plan) : answer->bound + pattern.constant_usd();
    offer(std::move(*plan));
    if (!answer->proven) note_ = "cbc: stopped before it had a proof";
    // Plans that the open entries leave out cost at least what was known before.
    return std::min(best_usd_, bound);
  }

  // The programs of all θ. Each gets a rough bound first, from the prices of its neighbour; the most promising one is
  // solved, so that there is a good plan to rule out others by; those that are left are solved if they cannot be ruled
  // out several at a time.
  struct FirstEnd {
    double theta_s = 0;
    double bound_usd = 0;
    std::vector<double> prices_usd{};
  };

  void solve_first_end() {
    std::vector<FirstEnd> programs;
    for (const double theta : first_end_times(instance_)) {
      const LinearCosts costs = first_end_costs(instance_, theta);
      const bool has_neighbour = !programs.empty();
      const Lagrangian dual = bounded(costs, has_neighbour ? programs.back().prices_usd : std::vector<double>(),
                                      has_neighbour ? kRoughRounds : dual_rounds(costs));
      programs.push_back({theta, dual.bound_usd + rules_usd(costs, dual), dual.prices_usd});
    }
    solve_first_end_at(*std::min_element(programs.begin(), programs.end(), [](const FirstEnd& a, const FirstEnd& b) {
      return a.bound_usd < b.bound_usd;
    }));
    for (std::size_t first = 0; first < programs.size(); first += kTogether) {
      rule_out(std::span(programs).subspan(first, std::min(kTogether, programs.size() - first)));
    }
    std::stable_sort(programs.begin(), programs.end(),
                     [](const FirstEnd& a, const FirstEnd& b) { return a.bound_usd < b.bound_usd; });
    bound_usd_ = kNever;
    for (FirstEnd& one : programs) {
      if (is_open(one)) solve_first_end_at(one);
      bound_usd_ = std::min(bound_usd_, one.bound_usd);
    }
  }

  bool is_open(const FirstEnd& one) const { return !best_ || !is_proof(best_usd_, one.bound_usd); }

  // Neighbours are nearly the same program: one that allows what any of them does often holds nothing cheaper either.
  void rule_out(std::span<FirstEnd> programs) {
    const auto open =
        std::count_if(programs.begin(), programs.end(), [&](const FirstEnd& one) { return is_open(one); });
    if (open < 2 || !best_ || options_.heuristic_only) return;
    const LinearCosts costs = first_end_costs(instance_, programs.front().theta_s, programs.back().theta_s);
    const Lagrangian dual = bounded(costs, programs.front().prices_usd, kRoughRounds);
    double bound = dual.bound_usd + rules_usd(costs, dual);
    if (!is_proof(best_usd_, bound)) bound = std::max(bound, solve_exactly(costs, dual));
    for (FirstEnd& one : programs) one.bound_usd = std::max(one.bound_usd, bound);
  }

  // Until the bound rules the program out. Plans that come with the prices are offered.
  Lagrangian bounded(const LinearCosts& costs, const std::vector<double>& prices_usd, int rounds) {
    const double target = best_ ? best_usd_ : worst_usd(costs);
    Lagrangian dual = lagrangian_bound(costs, target, rounds, prices_usd);
    for (Plan plan : {rounded_plan(costs, dual, Loss::kOfFirst), rounded_plan(costs, dual, Loss::kOfAll),
                      priced_plan(costs, dual)}) {
      if (check_plan(instance_, objective_, plan)) offer(std::move(plan));
    }
    return dual;
  }

  void solve_first_end_at(FirstEnd& one) {
    const LinearCosts costs = first_end_costs(instance_, one.theta_s);
    const Lagrangian dual = bounded(costs, one.prices_usd, kRoughRounds);
    one.bound_usd = std::max(one.bound_usd, dual.bound_usd + rules_usd(costs, dual));
    if (best_ && is_proof(best_usd_, one.bound_usd)) return;
    one.bound_usd = std::max(one.bound_usd, solve_exactly(costs, dual));
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
                    "the VM types do not allow as many",
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
