#include "schedule/policies/optimus.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "schedule/policies/elastic_grants.h"

namespace orrery::schedule {

namespace {

class Optimus : public Policy {
 public:
  Optimus(const OptimusOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return options_.equal_shares ? "equal-share" : "optimus"; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    if (!event.ended.empty()) {
      std::erase_if(active_, [&](JobIndex job) { return view.progress(job).state == JobState::kEnded; });
    }
    for (const JobIndex job : event.withdrawn) std::erase(active_, job);
    active_.insert(active_.end(), event.arrived.begin(), event.arrived.end());
    grant(view);
    place(view, decisions);
  }

  void exchange(StateArchive& state) override {
    state(active_);
    state.expect_active(active_);
  }

  void adopt(const ClusterView& view) override { active_ = own_jobs(view); }

 private:
  struct Gain {
    double gain = 0;
    std::size_t place = 0;  // in active_
    friend bool operator<(const Gain& a, const Gain& b) {
      return a.gain != b.gain ? a.gain < b.gain : a.place > b.place;
    }
  };

  double gain_of(const ClusterView& view, std::size_t place) {
    const JobIndex job = active_[place];
    const int gpus = granted_[place];
    if (gpus + 1 > model_.gpus_max(job)) return 0;
    if (options_.equal_shares) return 1.0 / gpus;
    double gain = (model_.step_s(job, gpus) - model_.step_s(job, gpus + 1)) * model_.steps_left(job);
    if (view.is_typed()) gain /= view.speed_on(job, types_[place]);
    return to_seconds(view.executed_ns(job)) < options_.young_s ? gain * options_.young_factor : gain;
  }

  // Step 1 for one job: a type with a GPU left; -1 without any.
  static std::int32_t first_type(const ClusterView& view, JobIndex job, const std::vector<int>& left) {
    const auto has_some = [&](std::int32_t type) { return left[static_cast<std::size_t>(type)] > 0; };
    if (!view.is_typed()) return has_some(0) ? 0 : -1;
    if (view.is_running(job) && has_some(held_type(view, job))) return held_type(view, job);
    const std::vector<std::int32_t> types = view.types_of(job);
    const auto fastest = std::find_if(types.begin(), types.end(), has_some);
    return fastest == types.end() ? -1 : *fastest;
  }

  void grant(const ClusterView& view) {
    std::vector<int> left = gpus_by_type(view);
    const auto left_for = [&](std::size_t place) -> int& { return left[static_cast<std::size_t>(types_[place])]; };
    granted_.assign(active_.size(), 0);
    types_.assign(active_.size(), 0);
    gains_.assign(active_.size(), 0);
    std::vector<Gain> heap;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (!view.is_protected(active_[i])) continue;
      granted_[i] = gpus_in(view.progress(active_[i]).allocation);
      types_[i] = held_type(view, active_[i]);
      left_for(i) -= granted_[i];
    }
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (granted_[i] > 0) continue;
      const std::int32_t type = first_type(view, active_[i], left);
      if (type < 0) {
        if (!view.is_typed()) break;
        continue;
      }
      types_[i] = type;
      granted_[i] = 1;
      --left_for(i);
    }
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (granted_[i] == 0 || left_for(i) == 0 || view.is_protected(active_[i])) continue;
      const double gain = gain_of(view, i);
      if (gain > 0) heap.push_back({gain, i});
    }
    std::priority_queue<Gain> queue(std::less<Gain>(), std::move(heap));
    for (int all = std::accumulate(left.begin(), left.end(), 0); all > 0 && !queue.empty();) {
      const Gain top = queue.top();
      queue.pop();
      if (left_for(top.place) == 0) continue;
      ++granted_[top.place];
      gains_[top.place] = top.gain;
      --left_for(top.place);
      --all;
      const double gain = gain_of(view, top.place);
      if (gain > 0) queue.push({gain, top.place});
    }
  }

  void place(const ClusterView& view, std::vector<Decision>& decisions) {
    FreeGpus free(view);
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const JobProgress& progress = view.progress(active_[i]);
      const Allocation& held = progress.allocation;
      const int before = gpus_in(held);
      const bool slow = progress.state == JobState::kRunning && progress.slowest_worker < kStragglerSpeed;
      const bool same_type = before == 0 || held_type(view, active_[i]) == types_[i];
      if (before == granted_[i] && same_type && !slow) continue;
      free.give(held);
      if (granted_[i] > 0) {
        changed.push_back(i);
      } else {
        decisions.push_back({.action = Action::kSuspend, .job = active_[i], .reason = {Why::kOvertaken}});
      }
    }
    std::stable_sort(changed.begin(), changed.end(),
                     [&](std::size_t a, std::size_t b) { return granted_[a] < granted_[b]; });
    for (const std::size_t i : changed) {
      Allocation allocation = take(view, free, i);
      const JobProgress& progress = view.progress(active_[i]);
      const int before = gpus_in(progress.allocation);
      const bool replaces = before == granted_[i];
      decisions.push_back({.action = !view.is_running(active_[i]) ? Action::kStart
                                     : replaces                   ? Action::kMigrate
                                                                  : Action::kResize,
                           .job = active_[i],
                           .allocation = std::move(allocation),
                           .reason = replaces ? Reason{Why::kStraggler, progress.slowest_worker} : why(i, before)});
    }
  }

  Reason why(std::size_t place, int before) const {
    if (options_.equal_shares) return {Why::kEqualShare, static_cast<double>(granted_[place])};
    return {Why::kMarginalGain, gains_[place], static_cast<double>(before)};
  }

  Allocation take(const ClusterView& view, FreeGpus& free, std::size_t place) {
    if (!view.is_typed()) return take_gpus(*placer_, view, free, active_[place], granted_[place]);
    FreeGpus of_type = free.of_type(view, types_[place]);
    Allocation allocation = take_gpus(*placer_, view, of_type, active_[place], granted_[place]);
    free.take(allocation);
    return allocation;
  }

  OptimusOptions options_;
  const ScalingModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;     // in order of submission
  std::vector<int> granted_;         // GPUs, by place in active_
  std::vector<std::int32_t> types_;  // of these GPUs
  std::vector<double> gains_;        // of the last GPU granted
};

}  // namespace

std::unique_ptr<Policy> make_optimus(const OptimusOptions& options, const ScalingModel& model,
                                     std::unique_ptr<Placer> placer) {
  return std::make_unique<Optimus>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
