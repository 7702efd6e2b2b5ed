#pragma once
// What is really true of a cluster in a test: which processes of which job run where, and how much they have worked.
// It carries effects out as a backend must (reconciler.h), and notices when one uses a GPU twice.

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "schedule/reconciler.h"

namespace orrery::schedule {

class TestCluster {
 public:
  // How long a step takes on this many GPUs, of one on a single GPU.
  using StepShare = double (*)(int gpus);

  TestCluster(const Machines& machines, StepShare step_share) : step_share_(step_share) {
    for (const MachineView& machine : machines) {
      gpus_.push_back(machine.gpus);
      is_up_.push_back(true);
    }
  }

  void add(const JobFacts& facts) { jobs_.push_back({.gpus = facts.gpus, .left_s = to_seconds(facts.work_ns)}); }

  void advance_to(TimeNs now) {
    for (Job& job : jobs_) job.left_s -= job.rate * to_seconds(now - now_);
    now_ = now;
  }

  bool runs(JobIndex job) const { return !jobs_[job].runs_on.empty(); }
  bool has_ended(JobIndex job) const { return jobs_[job].has_ended; }
  bool is_up(MachineIndex machine) const { return is_up_[machine]; }
  double rate(JobIndex job) const { return jobs_[job].rate; }

  // When the next job has done its work; kNever if none works.
  TimeNs next_end() const {
    TimeNs next = kNever;
    for (const Job& job : jobs_) {
      if (job.rate > 0) next = std::min(next, now_ + from_seconds(std::max(0.0, job.left_s) / job.rate));
    }
    return next;
  }
  // Jobs that have done their work end, and are returned.
  std::vector<JobIndex> end_jobs() {
    constexpr double kRounding_s = 1e-6;
    std::vector<JobIndex> ended;
    for (const JobIndex job : jobs_.indices()) {
      if (!(jobs_[job].rate > 0) || jobs_[job].left_s > kRounding_s) continue;
      jobs_[job].has_ended = true;
      ended.push_back(job);
    }
    for (const JobIndex job : ended) stop(job);
    return ended;
  }

  // Carries out an effect, unless a later one was carried out, and `fails` says so. The answer is the error, empty if
  // there is none; no answer to an effect that is too old.
  std::optional<std::string> carry_out(const Effect& effect, const std::function<bool(Effect::Kind)>& fails) {
    Job& job = jobs_[effect.job];
    if (effect.number < job.last) return std::nullopt;
    if (job.has_ended) return "it has ended";
    if (effect.number > job.last) job.last_error = attempt(effect, fails);
    job.last = effect.number;
    return job.last_error;
  }

  // Nothing runs there any more.
  void fail(MachineIndex machine) {
    is_up_[machine] = false;
    for (Job& job : jobs_) {
      const auto lost = std::erase_if(job.runs_on, [&](const Slice& slice) { return slice.machine == machine; });
      if (lost > 0) job.is_whole = false;
    }
    set_rates();
  }
  void restore(MachineIndex machine) { is_up_[machine] = true; }

  // The first thing that must not be, empty if there is none.
  std::string mistake() const {
    if (!mistake_.empty()) return mistake_;
    for (const MachineIndex machine : gpus_.indices()) {
      std::map<std::int64_t, int> by_set;
      for (const Job& job : jobs_) {
        for (const Slice& slice : job.runs_on) {
          if (slice.machine == machine) by_set[job.gpu_set] = slice.gpus;
        }
      }
      int used = 0;
      for (const auto& [set, gpus] : by_set) used += gpus;
      if (used > gpus_[machine]) {
        return fmt::format("machine {}: {} of {} GPUs are used", machine, used, gpus_[machine]);
      }
    }
    return {};
  }

 private:
  struct Job {
    int gpus = 1;
    double left_s = 0;          // of work, on the GPUs asked for
    Allocation runs_on{};       // of machines that are up
    bool is_whole = false;      // none of its machines has failed since it started
    std::int64_t gpu_set = -1;  // jobs with the same one share their GPUs
    double rate = 0;            // work per time
    bool has_ended = false;
    EffectNumber last = 0;  // carried out
    std::string last_error{};
  };

  std::string attempt(const Effect& effect, const std::function<bool(Effect::Kind)>& fails) {
    Job& job = jobs_[effect.job];
    switch (effect.kind) {
      case Effect::Kind::kStop:
        if (runs(effect.job) && fails(effect.kind)) return "it does not stop";
        stop(effect.job);
        return "";
      case Effect::Kind::kSetBatch:
        return fails(effect.kind) ? "no such batch" : "";
      case Effect::Kind::kStart:
        if (runs(effect.job)) mistake_ = fmt::format("job {} is started and runs already", effect.job);
        [[fallthrough]];
      case Effect::Kind::kMove: {
        const bool cannot = effect.kind == Effect::Kind::kMove && (!runs(effect.job) || !job.is_whole);
        const bool all_up = std::all_of(effect.allocation.begin(), effect.allocation.end(),
                                        [&](const Slice& slice) { return is_up_[slice.machine]; });
        stop(effect.job);
        if (cannot || !all_up || fails(effect.kind)) return "it does not start";
        job.runs_on = effect.allocation;
        job.is_whole = true;
        job.gpu_set = effect.gpu_set;
        set_rates();
        return "";
      }
    }
    return "";
  }

  void stop(JobIndex job) {
    jobs_[job].runs_on.clear();
    jobs_[job].gpu_set = -1;
    set_rates();
  }

  // Jobs that share GPUs get equal parts of them. A job that has lost a machine waits for the rest of itself.
  void set_rates() {
    std::map<std::int64_t, int> sharing;
    for (const Job& job : jobs_) sharing[job.gpu_set] += job.runs_on.empty() ? 0 : 1;
    for (Job& job : jobs_) {
      const bool works = job.is_whole && !job.runs_on.empty();
      job.rate = works ? step_share_(job.gpus) / step_share_(gpus_in(job.runs_on)) / sharing[job.gpu_set] : 0;
    }
  }

  StepShare step_share_;
  IndexedVector<MachineIndex, int> gpus_;
  IndexedVector<MachineIndex, bool> is_up_;
  IndexedVector<JobIndex, Job> jobs_;
  TimeNs now_ = 0;
  std::string mistake_;
};

}  // namespace orrery::schedule
