#include "lab/reference/gavel/gavel_simulator.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "lab/reference/gavel/gavel_policies.h"
#include "schedule/policies/gavel_rounds.h"

namespace orrery::lab {

using schedule::GavelRounds;
using schedule::JobIndex;
using schedule::kNoJob;
using schedule::RoundUnit;

namespace {

constexpr int kRoundsMax = 10'000'000;
constexpr double kFullRoundSlackS = 5;  // a round of so much less than its length is full

class GavelSimulator {
 public:
  GavelSimulator(const GavelJobs& jobs, const PackedSpeeds& speeds, const GavelOptions& options, GavelPolicy policy)
      : jobs_(jobs),
        speeds_(speeds),
        options_(options),
        policy_(std::move(policy)),
        rounds_(options.gpus.size(), options.round_s),
        random_(Random(options.seed).split("types")) {
    for (const GavelJob& job : jobs) progress_.push_back({job.kind, {job.steps, 0}, job.model});
    result_.completion_s.assign(jobs.size(), -1);
    order_.resize(options.gpus.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  Result<GavelResult> run() {
    double round_end_s = -1, round_start_s = 0;
    for (int round = 0; ended_ < jobs_.size(); ++round) {
      if (round >= kRoundsMax) return Error::infeasible("jobs are left that are never chosen");
      if (running_.empty()) {
        if (arrived_.place() < jobs_.size()) now_s_ = jobs_[arrived_].submit_s;
        // Nobody comes any more and nobody runs: shares are out of date.
        else
          reset_s_ = 0;
      } else {
        if (round_end_s >= 0) round_start_s = round_end_s;
        round_end_s = 0;
        for (const Running& r : running_) round_end_s = std::max(round_end_s, r.end_s);
        now_s_ = round_end_s;
      }
      finish_round(round_start_s);
      for (; arrived_.place() < jobs_.size() && jobs_[arrived_].submit_s <= now_s_; ++arrived_) arrive(arrived_);
      if (is_changed_ && (now_s_ - reset_s_ >= options_.reset_s || reset_s_ == 0)) reset();
      start_round();
    }
    result_.makespan_s = now_s_;
    return std::move(result_);
  }

 private:
  struct Running {
    RoundUnit unit;
    std::size_t type = 0;
    std::int64_t steps[2] = {0, 0};
    double end_s = 0;
  };

  // What changes of a job.
  struct Progress {
    PackedSpeeds::Kind kind = 0;
    StepCount steps{};
    BatchedModel model{};
    int wanted = 0;  // batch; 0: the one it has
  };

  const GavelJob& job(JobIndex j) const { return jobs_[j]; }
  Progress& progress(JobIndex j) { return progress_[j]; }
  PackedSpeeds::Kind kind(JobIndex j) const { return progress_[j].kind; }
  std::int64_t left(JobIndex j) const {
    const StepCount& steps = progress_[j].steps;
    return steps.total - steps.done;
  }

  static std::vector<bool> above_0(const std::vector<double>& speeds) {
    std::vector<bool> result;
    for (const double speed : speeds) result.push_back(speed > 0);
    return result;
  }

  void arrive(JobIndex j) {
    is_changed_ = true;
    rounds_.add({j, kNoJob}, job(j).gpus, above_0(speeds_.alone(kind(j))));
    if (policy_.packs) {
      for (const JobIndex other : active_) {
        if (job(other).gpus != job(j).gpus) continue;
        std::vector<bool> runs = above_0(speeds_.packed(kind(other), kind(j)));
        const std::vector<bool> too = above_0(speeds_.packed(kind(j), kind(other)));
        for (std::size_t k = 0; k < runs.size(); ++k) runs[k] = runs[k] && too[k];
        rounds_.add({other, j}, job(j).gpus, std::move(runs));
      }
    }
    active_.push_back(j);
  }

  void finish_round(double start_s) {
    for (const Running& r : running_) {
      rounds_.count(r.unit, r.type, r.end_s - start_s);
      for (const int which : {0, 1}) {
        const JobIndex j = which == 0 ? r.unit.first : r.unit.second;
        if (j == kNoJob) continue;
        progress(j).steps.done += r.steps[which];
        if (left(j) > 0) {
          change_batch(j);
          continue;
        }
        result_.completion_s[j] = r.end_s - job(j).submit_s;
        ended_now_.push_back(j);
      }
    }
    ran_before_.clear();
    for (const Running& r : running_) {
      for (const JobIndex j : {r.unit.first, r.unit.second}) ran_before_.insert(j);
    }
    for (const JobIndex j : ended_now_) {
      rounds_.remove(j);
      std::erase(active_, j);
      ++ended_;
      is_changed_ = true;
    }
    ended_now_.clear();
    running_.clear();
    for (const JobIndex j : active_) ask_for_batch(j);
  }

  void ask_for_batch(JobIndex j) {
    Progress& p = progress(j);
    const std::int64_t in_epoch = job(j).rule == BatchRule::kStatic ? 0 : steps_in_epoch(p.model);
    if (in_epoch == 0) return;
    const std::int64_t epoch = (p.steps.done + in_epoch - 1) / in_epoch;
    p.wanted = wanted_batch(job(j).rule, job(j).model, p.model, job(j).gpus, epoch);
  }

  // It has run a round since it asked.
  void change_batch(JobIndex j) {
    Progress& p = progress(j);
    if (p.wanted == 0 || p.wanted == p.model.batch) return;
    const BatchedModel after = {p.model.model, p.wanted};
    const PackedSpeeds::Kind kind = speeds_.kind(to_string(after), job(j).gpus);
    if (kind < 0) return;
    p.steps = recounted(p.steps, p.model, after);
    p.kind = kind;
    p.model = after;
    is_changed_ = true;
  }

  void reset() {
    rounds_.restart(now_s_ - reset_s_);
    reset_s_ = now_s_;
    is_changed_ = false;
    const std::vector<UnitShare> shares = policy_.shares(state());
    for (const UnitShare& share : shares) rounds_.set_share(share.unit, share.by_type);
  }

  GavelState state() {
    GavelState state;
    state.gpus = options_.gpus;
    for (const JobIndex j : active_) {
      state.jobs.push_back({j, speeds_.alone(kind(j)), job(j).gpus, job(j).weight, now_s_ - job(j).submit_s,
                            static_cast<double>(left(j)), job(j).deadline_s < 0 ? -1 : job(j).deadline_s - now_s_});
    }
    state.packed = [this](JobIndex first, JobIndex second) { return speeds_.packed(kind(first), kind(second)); };
    return state;
  }

  void start_round() {
    if (!policy_.keeps_order) {
      for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
    }
    for (const GavelRounds::Taken& taken :
         rounds_.choose(order_, options_.gpus, {policy_.uses_idle, policy_.uses_idle})) {
      if (!taken.has_share) continue;
      Running& r = running_.emplace_back();
      r.unit = taken.unit;
      r.type = taken.type;
      r.end_s = now_s_;
      for (const int which : {0, 1}) {
        const JobIndex j = which == 0 ? r.unit.first : r.unit.second, other = which == 0 ? r.unit.second : r.unit.first;
        if (j == kNoJob) continue;
        const double speed =
            other == kNoJob ? speeds_.alone(kind(j))[r.type] : speeds_.packed(kind(j), kind(other))[r.type];
        r.steps[which] = std::min(left(j), static_cast<std::int64_t>(speed * options_.round_s));
        const double seconds = static_cast<double>(r.steps[which]) / speed;
        r.end_s = std::max(r.end_s, now_s_ + seconds);
        const bool resumes = !ran_before_.contains(j) && seconds > options_.round_s - kFullRoundSlackS;
        if (resumes) r.steps[which] -= std::min(r.steps[which], static_cast<std::int64_t>(options_.resume_s * speed));
      }
    }
  }

  const GavelJobs& jobs_;
  const PackedSpeeds& speeds_;
  const GavelOptions& options_;
  GavelPolicy policy_;
  GavelRounds rounds_;
  Random random_;
  GavelResult result_;
  IndexedVector<JobIndex, Progress> progress_;
  std::vector<JobIndex> active_, ended_now_;
  std::vector<Running> running_;
  std::set<JobIndex> ran_before_;
  std::vector<std::size_t> order_;  // of types
  JobIndex arrived_{0};             // the first that has not
  std::size_t ended_ = 0;
  double now_s_ = 0, reset_s_ = 0;
  bool is_changed_ = false;
};

}  // namespace

bool is_gavel_policy(std::string_view name) {
  return make_gavel_policy(name, 0).has_value();
}

Result<GavelResult> simulate_gavel(const GavelJobs& jobs, const PackedSpeeds& speeds, std::string_view policy,
                                   const GavelOptions& options) {
  ORRERY_TRY(GavelPolicy made, make_gavel_policy(policy, options.seed));
  for (const JobIndex j : jobs.indices()) {
    const int most = *std::max_element(options.gpus.begin(), options.gpus.end());
    if (jobs[j].gpus > most) return Error::infeasible(fmt::format("job {}: more GPUs than there are of a type", j));
  }
  return GavelSimulator(jobs, speeds, options, std::move(made)).run();
}

}  // namespace orrery::lab
