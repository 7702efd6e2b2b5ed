#include "schedule/policies/optimus.h"

#include <algorithm>
#include <queue>

namespace orrery::schedule {

namespace {

constexpr double kStragglerSpeed = 0.5;  // of the median worker

class Optimus : public Policy {
 public:
  Optimus(const OptimusOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return "optimus"; }
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
    const double gain = (model_.step_s(job, gpus) - model_.step_s(job, gpus + 1)) * model_.steps_left(job);
    return to_seconds(view.executed_ns(job)) < options_.young_s ? gain * options_.young_factor : gain;
  }

  void grant(const ClusterView& view) {
    int left = view.gpus();
    granted_.assign(active_.size(), 0);
    gains_.assign(active_.size(), 0);
    std::vector<Gain> heap;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (!view.is_protected(active_[i])) continue;
      granted_[i] = gpus_in(view.progress(active_[i]).allocation);
      left -= granted_[i];
    }
    for (std::size_t i = 0; i < active_.size() && left > 0; ++i) {
      if (granted_[i] > 0) continue;
      granted_[i] = 1;
      --left;
    }
    if (left == 0) return;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (view.is_protected(active_[i])) continue;
      const double gain = gain_of(view, i);
      if (gain > 0) heap.push_back({gain, i});
    }
    std::priority_queue<Gain> queue(std::less<Gain>(), std::move(heap));
    while (left > 0 && !queue.empty()) {
      const Gain top = queue.top();
      queue.pop();
      ++granted_[top.place];
      gains_[top.place] = top.gain;
      --left;
      const double gain = gain_of(view, top.place);
      if (gain > 0) queue.push({gain, top.place});
    }
  }

  void place(const ClusterView& view, std::vector<Decision>& decisions) {
    FreeGpus free(view);
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const Allocation& held = view.progress(active_[i]).allocation;
      const int before = gpus_in(held);
      const bool slow = view.is_running(active_[i]) && view.progress(active_[i]).slowest_worker < kStragglerSpeed;
      if (before == granted_[i] && !slow) continue;
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
      Allocation allocation = take_gpus(*placer_, view, free, active_[i], granted_[i]);
      const JobProgress& progress = view.progress(active_[i]);
      const int before = gpus_in(progress.allocation);
      const bool replaces = before == granted_[i];
      decisions.push_back({.action = !view.is_running(active_[i]) ? Action::kStart
                                     : replaces                   ? Action::kMigrate
                                                                  : Action::kResize,
                           .job = active_[i],
                           .allocation = std::move(allocation),
                           .reason = replaces ? Reason{Why::kStraggler, progress.slowest_worker}
                                              : Reason{Why::kMarginalGain, gains_[i], static_cast<double>(before)}});
    }
  }

  OptimusOptions options_;
  const ScalingModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;  // in order of submission
  std::vector<int> granted_;      // GPUs, by place in active_
  std::vector<double> gains_;     // of the last GPU granted
};

}  // namespace

std::unique_ptr<Policy> make_optimus(const OptimusOptions& options, const ScalingModel& model,
                                     std::unique_ptr<Placer> placer) {
  return std::make_unique<Optimus>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
