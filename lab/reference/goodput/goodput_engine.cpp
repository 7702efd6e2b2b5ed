#include "lab/reference/goodput/goodput_engine.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "base/random.h"

namespace orrery::lab {

using schedule::Decision;
using schedule::JobIndex;

namespace {

constexpr int kGpusPerPredictedNode = 4;  // predictions assume nodes of the testbed, filled one after the other

// Where a job stands, beyond what the ledger knows.
struct Progress {
  int epoch = 0;
  double done = 0;
  int delay_s = 0;  // of the restart, left
  bool ended = false;
  BatchSplit split{};
  int batch = 0;  // really used, of all GPUs together
  double step_s = 0;
  std::vector<int> per_node{};
  double goodput = 0;
  int goodput_epoch = -1;
};

class GoodputEngine : public schedule::GoodputModel {
 public:
  GoodputEngine(const GoodputJobs& jobs, const schedule::Machines& machines, const GoodputOptions& options)
      : jobs_(jobs), options_(options), dispatcher_(machines, dispatch_options(options)), progress_(jobs.size()) {
    result_.jobs.resize(jobs.size());
  }

  Result<GoodputResult> run(const GoodputPolicy& policy) {
    ORRERY_TRY_VOID(dispatcher_.set_policy([&](const schedule::ClusterView& view) { return policy(view, *this); }));
    for (int round = 1; unfinished() && round <= options_.rounds_max; ++round) {
      for (const JobIndex j : jobs_.indices()) {
        if (is_running(j)) ORRERY_TRY_VOID(advance(j));
      }
      now_s_ += options_.round_s;
      dispatcher_.advance_to(now_s_ * schedule::kSecondNs);
      ORRERY_TRY_VOID(ask());
    }
    if (unfinished()) return Error::infeasible(fmt::format("jobs left after {} rounds", options_.rounds_max));
    return std::move(result_);
  }

  double step_s(JobIndex job, int gpus) const override {
    const GoodputJob& facts = jobs_[job];
    std::vector<double>& known = predicted_[{facts.application, facts.batch}];
    if (known.size() <= static_cast<std::size_t>(gpus)) known.resize(static_cast<std::size_t>(gpus) + 1, -1);
    double& cell = known[static_cast<std::size_t>(gpus)];
    if (cell < 0) cell = predict(facts, gpus);
    return cell;
  }

  double steps_left(JobIndex job) const override {
    const GoodputJob& facts = jobs_[job];
    const int epoch = progress_[job].epoch, last = facts.application->epochs() - 1;
    if (last <= epoch) return 1;
    const auto all = facts.application->iterations(facts.batch, last);
    const auto done = facts.application->iterations(facts.batch, epoch);
    return all && done ? *all - *done : 1;
  }

  int gpus_max(JobIndex job) const override {
    const GoodputJob& facts = jobs_[job];
    return facts.application->gpus_max(facts.batch);
  }

  double goodput(JobIndex job, int gpus) const override {
    const Application* application = jobs_[job].application;
    const int epoch = std::min(progress_[job].epoch, application->epochs() - 1);
    const auto [found, is_new] = goodputs_.try_emplace({application, epoch, gpus}, 0.0);
    if (is_new) {
      const auto best = application->best_goodput(nodes_of(gpus), epoch);
      // What was never measured is never chosen.
      found->second = best ? best->per_s : 0;
    }
    return found->second;
  }

  int goodput_gpus_max(JobIndex job) const override { return jobs_[job].application->goodput_gpus_max(); }

 private:
  static std::vector<int> nodes_of(int gpus) {
    std::vector<int> per_node(static_cast<std::size_t>(gpus / kGpusPerPredictedNode), kGpusPerPredictedNode);
    if (gpus % kGpusPerPredictedNode != 0) per_node.push_back(gpus % kGpusPerPredictedNode);
    return per_node;
  }

  static double predict(const GoodputJob& job, int gpus) {
    const BatchSplit split = job.application->split(job.batch, gpus, true);
    const auto time = job.application->step_time(nodes_of(gpus), split.per_gpu);
    // What was never measured is never chosen.
    return time ? time->total_s(split.accumulations) : std::numeric_limits<double>::infinity();
  }

  static schedule::DispatchOptions dispatch_options(const GoodputOptions& options) {
    return {.round_ns = schedule::from_seconds(options.round_s), .is_strict = true};
  }
  bool is_running(JobIndex job) const {
    const schedule::ClusterView& view = dispatcher_.view();
    return job.place() < view.jobs() && view.is_running(job);
  }

  bool unfinished() const { return ended_ < jobs_.size(); }

  Status advance(JobIndex j) {
    Progress& p = progress_[j];
    if (p.ended) return {};
    const Application& application = *jobs_[j].application;
    int seconds = options_.round_s;
    const int delay = std::min(p.delay_s, seconds);
    p.delay_s -= delay;
    seconds -= delay;
    while (seconds > 0 && !p.ended) {
      if (p.goodput_epoch != p.epoch && options_.adapts_batch) {
        ORRERY_TRY(const Application::Goodput best, application.best_goodput(p.per_node, p.epoch));
        p.goodput = best.per_s;
        p.goodput_epoch = p.epoch;
      } else if (p.goodput_epoch != p.epoch) {
        ORRERY_TRY(const double gain, application.gain(p.batch, p.epoch));
        p.goodput = gain / p.step_s;
        p.goodput_epoch = p.epoch;
      }
      const double next = application.progress_at(p.epoch + 1);
      if (p.done + p.goodput * seconds < next) {
        p.done += p.goodput * seconds;
        return {};
      }
      const int taken = static_cast<int>(std::nearbyint((next - p.done) / p.goodput));
      ++p.epoch;
      p.done = next;
      seconds -= taken;
      if (p.epoch > application.epochs() - 1) {
        p.ended = true;
        result_.jobs[j].end_s = static_cast<double>(now_s_ + options_.round_s - seconds);
      }
    }
    return {};
  }

  Status ask() {
    for (const JobIndex job : jobs_.indices()) {
      if (progress_[job].ended && is_running(job)) {
        dispatcher_.end(job);
        ++ended_;
        result_.makespan_s = std::max(result_.makespan_s, result_.jobs[job].end_s);
      }
    }
    for (; arrived_.place() < jobs_.size() && jobs_[arrived_].submit_s <= static_cast<double>(now_s_); ++arrived_) {
      const GoodputJob& job = jobs_[arrived_];
      dispatcher_.submit({.submit_ns = schedule::from_seconds(job.submit_s), .gpus = job.gpus});
    }
    if (arrived_.place() == ended_) return {};  // the policy hears of it with the next arrival
    ORRERY_TRY_VOID(dispatcher_.step());
    dispatcher_.clear_changes();
    for (const Decision& decision : dispatcher_.decided()) {
      result_.decision_hash =
          mix64(result_.decision_hash ^ static_cast<std::uint64_t>(now_s_) << 32 ^
                std::uint64_t{decision.job.place()} << 8 ^ static_cast<std::uint64_t>(decision.action));
      if (schedule::takes(decision.action)) ORRERY_TRY_VOID(place(decision));
    }
    return {};
  }

  Status place(const Decision& decision) {
    const JobIndex j = decision.job;
    Progress& p = progress_[j];
    std::vector<int> per_node;
    const schedule::Allocation& held = dispatcher_.view().progress(j).allocation;
    for (const schedule::Slice& slice : held) per_node.push_back(slice.gpus);
    const int gpus = schedule::gpus_in(held);
    p.delay_s = options_.rescale_s;
    p.goodput_epoch = -1;
    p.per_node = per_node;
    if (dispatcher_.view().progress(decision.job).starts > 1) ++result_.jobs[j].restarts;
    if (options_.adapts_batch) return {};
    p.split = jobs_[j].application->split(jobs_[j].batch, gpus, false);
    p.batch = gpus * p.split.per_gpu * (p.split.accumulations + 1);
    ORRERY_TRY(const StepTime time, jobs_[j].application->step_time(per_node, p.split.per_gpu));
    p.step_s = time.total_s(p.split.accumulations);
    return {};
  }

  const GoodputJobs& jobs_;
  GoodputOptions options_;
  schedule::Dispatcher dispatcher_;
  IndexedVector<JobIndex, Progress> progress_;
  GoodputResult result_;
  std::int64_t now_s_ = 0;
  JobIndex arrived_{0};  // the first that has not
  std::size_t ended_ = 0;
  mutable std::map<std::tuple<const Application*, int, int>, double> goodputs_;  // by application, epoch and GPUs
  mutable std::map<std::pair<const Application*, int>, std::vector<double>> predicted_;  // by GPUs; below 0: not yet
};

}  // namespace

Result<GoodputResult> simulate_goodput(const GoodputJobs& jobs, const schedule::Machines& machines,
                                       const GoodputPolicy& policy, const GoodputOptions& options) {
  return GoodputEngine(jobs, machines, options).run(policy);
}

}  // namespace orrery::lab
