#include "schedule/policies/gavel.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "schedule/policies/gavel_rounds.h"

namespace orrery::schedule {

namespace {

class Gavel : public Policy {
 public:
  Gavel(const GavelOptions& options, std::unique_ptr<Placer> placer) : options_(options), placer_(std::move(placer)) {}

  std::string_view name() const override { return options_.name; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    look(view);
    count_round();
    for (const JobIndex job : event.ended) leave(job);
    for (const JobIndex job : event.withdrawn) leave(job);
    for (const JobIndex job : event.arrived) arrive(job);
    is_changed_ = is_changed_ || event.machines_changed || !event.revised.empty();
    const double now_s = to_seconds(view.now());
    if (is_changed_ && (!rounds_->has_shares() || now_s - reset_s_ >= options_.reset_s)) reset(now_s);
    choose();
    carry_out(decisions);
  }

  void exchange(StateArchive& state) override {
    bool has_rounds = rounds_ != nullptr;
    state(has_rounds);
    if (has_rounds) {
      if (state.is_reading()) look(state.view());
      state(*rounds_);
    }
    state(active_, running_, pasts_, asked_ns_, reset_s_, is_changed_);
    state.expect_active(active_);
    state.expect(has_rounds || active_.empty(), "jobs have no rounds");
    for (const auto& [unit, type] : running_) state.expect(has_rounds && type < types(), "there is no such type");
  }

  // All jobs begin with no time received.
  void adopt(const ClusterView& view) override {
    look(view);
    asked_ns_ = view.now();
    reset_s_ = to_seconds(view.now());
    for (const JobIndex job : own_jobs(view)) {
      arrive(job);
      const bool alone = view.is_running(job) && view.progress(job).partner == kNoJob;
      if (alone) running_.push_back({{job, kNoJob}, type_of(job)});
    }
  }

 private:
  struct Target {
    std::size_t type = 0;
    JobIndex partner = kNoJob;
    double share = 0, priority = 0;
  };

  void look(const ClusterView& view) {
    view_ = &view;
    if (!rounds_) rounds_ = std::make_unique<GavelRounds>(types(), options_.round_s);
  }

  std::size_t types() const { return view_->is_typed() ? static_cast<std::size_t>(view_->types()) : 1; }
  std::size_t type_of_machine(MachineIndex machine) const {
    if (!view_->is_typed()) return 0;
    return static_cast<std::size_t>(view_->machines()[machine].device);
  }
  std::size_t type_of(JobIndex running) const {
    return type_of_machine(view_->progress(running).allocation.front().machine);
  }
  std::vector<double> speeds(JobIndex job) const {
    if (!view_->is_typed()) return {1};
    std::vector<double> result;
    for (std::int32_t type = 0; type < view_->types(); ++type) result.push_back(view_->speed_on(job, type));
    return result;
  }
  std::vector<int> gpus_by_type() const {
    std::vector<int> gpus(types(), 0);
    const Machines& machines = view_->machines();
    for (const MachineIndex m : machines.indices()) {
      if (machines[m].up) gpus[type_of_machine(m)] += machines[m].gpus;
    }
    return gpus;
  }

  // Jobs that ran since the last call have received their time.
  void count_round() {
    const double seconds = to_seconds(view_->now() - asked_ns_);
    for (const auto& [unit, type] : running_) rounds_->count(unit, type, seconds);
    asked_ns_ = view_->now();
  }

  void arrive(JobIndex job) {
    std::vector<bool> runs;
    for (const double speed : speeds(job)) runs.push_back(speed > 0);
    rounds_->add({job, kNoJob}, view_->facts(job).gpus, std::move(runs));
    active_.push_back(job);
    is_changed_ = true;
  }

  void leave(JobIndex job) {
    rounds_->remove(job);
    std::erase(active_, job);
    std::erase_if(running_, [job](const auto& r) { return r.first.first == job || r.first.second == job; });
    pasts_.erase(job);
    is_changed_ = true;
  }

  void reset(double now_s) {
    rounds_->restart(now_s - reset_s_);
    reset_s_ = now_s;
    is_changed_ = false;
    ShareProblem problem;
    const std::vector<int> gpus = gpus_by_type();
    problem.gpus.assign(gpus.begin(), gpus.end());
    problem.price = options_.price;
    std::vector<JobIndex> jobs;
    for (const JobIndex job : active_) {
      if (jobs.size() >= options_.jobs_max) break;
      if (!fits(job, gpus)) continue;
      jobs.push_back(job);
      problem.jobs.push_back(share_job(job, now_s));
    }
    if (options_.packed_share) add_pairs(jobs, problem);
    if (options_.goal == GavelGoal::kFinishTime) remember(jobs, problem);
    const Shares shares = solve(problem);
    for (std::size_t j = 0; j < jobs.size(); ++j) rounds_->set_share({jobs[j], kNoJob}, shares[j]);
    for (std::size_t p = 0; p < problem.pairs.size(); ++p) {
      const RoundUnit unit = {jobs[static_cast<std::size_t>(problem.pairs[p].first)],
                              jobs[static_cast<std::size_t>(problem.pairs[p].second)]};
      rounds_->set_share(unit, shares[jobs.size() + p]);
    }
  }

  // Machines can be down.
  bool fits(JobIndex job, const std::vector<int>& gpus) const {
    const std::vector<double> speed = speeds(job);
    for (std::size_t k = 0; k < gpus.size(); ++k) {
      if (speed[k] > 0 && gpus[k] >= view_->facts(job).gpus) return true;
    }
    return false;
  }

  ShareJob share_job(JobIndex job, double now_s) const {
    const JobFacts& facts = view_->facts(job);
    ShareJob result{.speed = speeds(job), .gpus = facts.gpus};
    result.age_s = now_s - to_seconds(facts.submit_ns);
    // An underestimated job counts as one that ends soon.
    result.left = std::max(1.0, to_seconds(view_->expected_left_ns(job)));
    if (facts.deadline_ns != kNever) result.deadline_in_s = to_seconds(facts.deadline_ns) - now_s;
    return result;
  }

  void add_pairs(const std::vector<JobIndex>& jobs, ShareProblem& problem) {
    const std::size_t count = std::min(jobs.size(), options_.packed_jobs_max);
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        const JobFacts &first = view_->facts(jobs[a]), &second = view_->facts(jobs[b]);
        if (first.gpus != second.gpus || first.gpu_memory_share + second.gpu_memory_share > 1) continue;
        const double kept = options_.packed_share(*view_, jobs[a], jobs[b]),
                     other = options_.packed_share(*view_, jobs[b], jobs[a]);
        if (kept + other <= 1) continue;
        SharePair pair{static_cast<int>(a), static_cast<int>(b), problem.jobs[a].speed, problem.jobs[b].speed};
        std::vector<bool> runs;
        for (std::size_t k = 0; k < pair.first_speed.size(); ++k) {
          pair.first_speed[k] *= kept;
          pair.second_speed[k] *= other;
          runs.push_back(pair.first_speed[k] > 0 && pair.second_speed[k] > 0);
        }
        const RoundUnit unit = {jobs[a], jobs[b]};
        if (!rounds_->has(unit)) rounds_->add(unit, first.gpus, runs);
        problem.pairs.push_back(std::move(pair));
      }
    }
  }

  // What the work of each job so far would have taken with equal shares.
  void remember(const std::vector<JobIndex>& jobs, ShareProblem& problem) {
    const std::vector<double> equal = speeds_with(problem, isolated_shares(problem));
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const auto [found, is_new] = pasts_.try_emplace(jobs[j]);
      Past& past = found->second;
      if (!is_new) past.isolated_s += std::max(0.0, past.left - problem.jobs[j].left) / past.speed;
      past.left = problem.jobs[j].left;
      past.speed = equal[j];
      problem.jobs[j].isolated_s = past.isolated_s;
    }
  }

  Shares solve(const ShareProblem& problem) const {
    switch (options_.goal) {
      case GavelGoal::kMaxMin:
        return max_min_shares(problem);
      case GavelGoal::kFinishTime:
        return finish_time_shares(problem);
      case GavelGoal::kMakespan:
        return makespan_shares(problem);
      case GavelGoal::kThroughput:
        return throughput_shares(problem);
      case GavelGoal::kIsolated:
        return isolated_shares(problem);
    }
    return {};
  }

  void choose() {
    targets_.clear();
    running_.clear();
    std::vector<int> gpus = gpus_by_type();
    std::vector<JobIndex> fixed;
    for (const JobIndex job : active_) {
      if (!view_->is_protected(job)) continue;
      const JobProgress& p = view_->progress(job);
      const bool is_counted = std::find(fixed.begin(), fixed.end(), job) != fixed.end();
      if (!is_counted) gpus[type_of(job)] -= gpus_in(p.allocation);
      targets_[job] = {type_of(job), p.partner};
      // A job that shares GPUs with one that has to stay, stays.
      if (p.partner != kNoJob) {
        targets_[p.partner] = {type_of(job), job};
        fixed.push_back(p.partner);
      }
      fixed.push_back(job);
    }
    std::vector<std::size_t> order(gpus.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (const GavelRounds::Taken& taken : rounds_->choose(order, gpus, {.idle_pairs = false, .without = fixed})) {
      targets_[taken.unit.first] = {taken.type, taken.unit.second, taken.share, taken.priority};
      if (taken.unit.second != kNoJob) {
        targets_[taken.unit.second] = {taken.type, taken.unit.first, taken.share, taken.priority};
      }
      running_.emplace_back(taken.unit, taken.type);
    }
  }

  void carry_out(std::vector<Decision>& decisions) {
    FreeGpus free;
    free.assign(*view_);
    std::vector<JobIndex> starts;
    for (const JobIndex job : active_) {
      const auto target = targets_.find(job);
      const bool wanted = target != targets_.end();
      if (view_->is_running(job)) {
        const JobProgress& p = view_->progress(job);
        if (wanted && target->second.type == type_of(job) && target->second.partner == p.partner) continue;
        // A job that loses its partner and stays where it is needs no decision: the partner leaves.
        const bool stays =
            wanted && target->second.type == type_of(job) && target->second.partner == kNoJob && !p.is_guest;
        if (stays) continue;
        decisions.push_back({.action = Action::kSuspend, .job = job, .reason = {Why::kShareUsed}});
        if (!p.is_guest) free.give(p.allocation);
      }
      if (wanted) starts.push_back(job);
    }
    // Larger gangs first, so that they stay together.
    std::stable_sort(starts.begin(), starts.end(),
                     [this](JobIndex a, JobIndex b) { return view_->facts(a).gpus > view_->facts(b).gpus; });
    // Of a pair the lower index takes the GPUs, whichever came first, and the other joins it when all have theirs.
    for (const JobIndex job : starts) {
      if (!joins(job)) start(job, free, decisions);
    }
    for (const JobIndex job : starts) {
      if (!joins(job)) continue;
      decisions.push_back(
          {.action = Action::kPack, .job = job, .other = targets_.at(job).partner, .reason = reason_of(job)});
    }
  }

  bool joins(JobIndex job) const {
    const JobIndex partner = targets_.at(job).partner;
    return partner != kNoJob && partner < job;
  }
  Reason reason_of(JobIndex job) const { return {Why::kShareDue, targets_.at(job).share, targets_.at(job).priority}; }

  void start(JobIndex job, FreeGpus& free, std::vector<Decision>& decisions) {
    const Target& target = targets_.at(job);
    const FreeGpus there = view_->is_typed() ? free.of_type(*view_, static_cast<std::int32_t>(target.type)) : free;
    const Allocation allocation = *placer_->place(*view_, there, job, view_->facts(job).gpus);
    free.take(allocation);
    decisions.push_back({.action = Action::kStart, .job = job, .allocation = allocation, .reason = reason_of(job)});
  }

  struct Past {
    double isolated_s = 0, left = 0, speed = 1;
    void exchange(StateArchive& state) { state(isolated_s, left, speed); }
  };

  GavelOptions options_;
  std::unique_ptr<Placer> placer_;
  const ClusterView* view_ = nullptr;
  std::unique_ptr<GavelRounds> rounds_;
  std::vector<JobIndex> active_;                            // in order of arrival
  std::vector<std::pair<RoundUnit, std::size_t>> running_;  // chosen in the last round, with their types
  std::map<JobIndex, Target> targets_;
  std::map<JobIndex, Past> pasts_;
  TimeNs asked_ns_ = 0;
  double reset_s_ = 0;
  bool is_changed_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_gavel(const GavelOptions& options, std::unique_ptr<Placer> placer) {
  return std::make_unique<Gavel>(options, std::move(placer));
}

}  // namespace orrery::schedule
