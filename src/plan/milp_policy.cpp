#include "plan/milp_policy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "env/clock.h"
#include "plan/dispatch.h"
#include "plan/linear_costs.h"
#include "plan/order_search.h"
#include "plan/scheduler_adapter.h"

namespace orrery::plan {

namespace {

struct Postponing {
  Objective objective;
  double wait_fraction;
  double rho;
};

constexpr std::array kPostponing = {
    Postponing{Objective::kWait, 0.25, 100}, Postponing{Objective::kWait, 0.5, 100},
    Postponing{Objective::kWait, 1, 100},    Postponing{Objective::kRho, 0.25, 1},
    Postponing{Objective::kRho, 0.25, 100},
};

class MilpPolicy final : public schedule::Policy {
 public:
  MilpPolicy(const MilpPolicyOptions& options, std::unique_ptr<ClusterAdapter> adapter, env::Env env,
             MilpPolicyStats* stats)
      : options_(options), adapter_(std::move(adapter)), env_(env), stats_(stats != nullptr ? *stats : own_stats_) {
    options_.planner.random_tries = 0;
    how_.horizon_s = options.horizon_s;
    how_.kappa = 0.05;
  }

  std::string_view name() const override { return "milp"; }

  schedule::TimeNs wake_at_ns() const override { return wake_ns_; }

  void decide(const schedule::ClusterView& view, const schedule::Event& event,
              std::vector<schedule::Decision>& decisions) override {
    adapter_->hear(event);
    adapter_->start_first(view, decisions);
    const Situation now = adapter_->look(view, how_);
    wake_ns_ = now.jobs.empty() ? schedule::kNever : view.now() + schedule::from_seconds(options_.horizon_s);
    if (now.jobs.empty()) return;
    const Seconds start = env_.clock.monotonic();
    const Outlook outlook(now.instance);
    const ListedOrder known = known_list(now);
    const OrderSearch after = search_order(outlook, now.current, known, options_.tries, seed_);
    const OrderSearch anew = search_order(outlook, {}, known, options_.tries, seed_);
    remember(now, anew.list);
    const std::vector<DispatchRule> rules = rules_with(after, anew);
    // An empty cluster is no plan while there are jobs.
    Plan best = now.current;
    Forecast least = best.nodes.empty() ? Forecast{.rental_usd = kNever} : best_forecast(outlook, best, rules);
    for (Plan& plan : candidates(now, after, anew)) {
      if (plan.nodes.empty()) continue;
      const Forecast then = best_forecast(outlook, plan, rules);
      if (then.score() >= least.score() * (1 - options_.worthwhile)) continue;
      least = then;
      best = std::move(plan);
    }
    const std::size_t first = decisions.size();
    carry_out(view, now, best, decisions);
    for (std::size_t i = first; i < decisions.size(); ++i) decisions[i].reason.b = least.total_usd();
    count(env_.clock.monotonic() - start);
  }

  void exchange(schedule::StateArchive& state) override {
    std::erase_if(listed_, [&](const auto& one) { return !state.knows(one.first); });
    adapter_->exchange(state);
    state(listed_, crowding_, anew_, seed_, wake_ns_);
  }

  void adopt(const schedule::ClusterView& view) override {
    adapter_->adopt(view);
    wake_ns_ = view.now();
  }

 private:
  // The order found last time; jobs that have come since are appended.
  ListedOrder known_list(const Situation& now) const {
    ListedOrder list{.crowding = crowding_, .anew = anew_};
    for (const schedule::JobIndex job : now.jobs) {
      const auto found = listed_.find(job);
      const bool is_known = found != listed_.end();
      list.keys.push_back(is_known ? found->second.key : std::numeric_limits<double>::max());
      list.modest.push_back(is_known ? found->second.modest : 1);
    }
    return list;
  }

  void remember(const Situation& now, const ListedOrder& list) {
    listed_.clear();
    for (std::size_t i = 0; i < now.jobs.size(); ++i) listed_[now.jobs[i]] = {list.keys[i], list.modest[i]};
    crowding_ = list.crowding;
    anew_ = list.anew;
    ++seed_;
  }

  // How plans are played on.
  static std::vector<DispatchRule> rules_with(const OrderSearch& after, const OrderSearch& anew) {
    std::vector<DispatchRule> rules(dispatch_rules().begin(), dispatch_rules().end());
    for (const OrderSearch* search : {&after, &anew}) {
      rules.push_back(search->rule());
      rules.back().anew = false;
      if (search->list.keys.size() > kAnewJobsMax) continue;
      rules.push_back(search->rule());
      rules.back().anew = true;
    }
    return rules;
  }

  std::vector<Plan> candidates(const Situation& now, const OrderSearch& after, const OrderSearch& anew) {
    std::vector<Plan> plans = {after.best.plan};
    const bool moves = std::none_of(now.instance.jobs.begin(), now.instance.jobs.end(),
                                    [](const Job& job) { return job.is_pinned(); });
    if (moves) plans.push_back(anew.best.plan);
    if (now.jobs.size() > options_.planned_max) return plans;
    for (const Postponing& one : kPostponing) {
      Instance instance = now.instance;
      instance.wait_fraction = one.wait_fraction;
      instance.rho = one.rho;
      auto report = make_plan(instance, one.objective, options_.planner, env_);
      if (!report) continue;
      ++stats_.plans;
      stats_.proven += report->proven ? 1 : 0;
      plans.push_back(std::move(report->plan));
    }
    return plans;
  }

  void count(Seconds time) {
    ++stats_.decisions;
    stats_.time += time;
    stats_.slowest = std::max(stats_.slowest, time);
  }

  MilpPolicyOptions options_;
  std::unique_ptr<ClusterAdapter> adapter_;
  Instance how_;
  env::Env env_;
  struct Listed {
    double key = 0;
    double modest = 1;
    void exchange(schedule::StateArchive& state) { state(key, modest); }
  };
  std::map<schedule::JobIndex, Listed> listed_;  // by the last search
  double crowding_ = 1;
  bool anew_ = false;
  std::uint64_t seed_ = 1;  // of the next search
  schedule::TimeNs wake_ns_ = schedule::kNever;
  MilpPolicyStats own_stats_;
  MilpPolicyStats& stats_;
};

}  // namespace

std::unique_ptr<schedule::Policy> make_milp_policy(const MilpPolicyOptions& options,
                                                   std::unique_ptr<ClusterAdapter> adapter, env::Env env,
                                                   MilpPolicyStats* stats) {
  return std::make_unique<MilpPolicy>(options, std::move(adapter), env, stats);
}

std::unique_ptr<schedule::Policy> make_milp_policy(const MilpPolicyOptions& options, const Market& market,
                                                   const MarketJobs& jobs, env::Env env, MilpPolicyStats* stats) {
  return make_milp_policy(options, std::make_unique<MarketAdapter>(market, jobs), env, stats);
}

schedule::PolicyRecord milp_record(const env::Env* env) {
  const auto make = [env](const schedule::PolicyInputs& inputs,
                          std::unique_ptr<schedule::Placer>) -> Result<std::unique_ptr<schedule::Policy>> {
    if (env == nullptr) return Error::invalid("milp needs a clock");
    MilpPolicyOptions options;
    options.horizon_s = 6 * 3600;
    options.tries = 20;
    options.planned_max = 30;
    options.planner.heuristic_only = true;
    return make_milp_policy(
        options,
        std::make_unique<SchedulerAdapter>(SchedulerAdapterOptions{.switch_s = inputs.switch_s}, *inputs.scaling),
        *env);
  };
  return {.name = "milp",
          .summary = "least weighted tardiness, or time without deadlines, by plans that are played on",
          .needs = {schedule::Need::kWork, schedule::Need::kScaling, schedule::Need::kDeadlines},
          .may_wait = true,
          .make = make};
}

}  // namespace orrery::plan
