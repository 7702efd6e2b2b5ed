#include "schedule/policies/tiresias.h"

#include <algorithm>

#include "schedule/policies/order_walk.h"

namespace orrery::schedule {

namespace {

class Tiresias : public Policy {
 public:
  Tiresias(const TiresiasOptions& options, std::unique_ptr<Placer> placer)
      : options_(options), placer_(std::move(placer)), queues_(options.limits_gpu_s.size() + 1) {}

  std::string_view name() const override { return "tiresias"; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const auto& gone : {event.ended, event.withdrawn}) {
      for (const JobIndex job : gone) {
        for (auto& queue : queues_) std::erase(queue, job);
      }
    }
    queues_[0].insert(queues_[0].end(), event.arrived.begin(), event.arrived.end());
    demote(view);
    walk_.begin(view);
    for (const auto& queue : queues_) {
      for (const JobIndex job : queue) {
        if (view.is_protected(job)) walk_.keep(job);
      }
    }
    for (const auto& queue : queues_) {
      for (const JobIndex job : queue) {
        if (!view.is_protected(job)) walk_.visit(job);
      }
    }
    walk_.apply(*placer_, decisions, [&](JobIndex job) {
      const bool is_first = std::find(queues_[0].begin(), queues_[0].end(), job) != queues_[0].end();
      return Reason{Why::kQueue, is_first ? 0.0 : 1.0};
    });
  }

  void exchange(StateArchive& state) override {
    std::vector<JobIndex> jobs;
    for (auto& queue : queues_) {
      state(queue);
      jobs.insert(jobs.end(), queue.begin(), queue.end());
    }
    state.expect_active(jobs);
  }

  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) {
      const double attained = to_seconds(view.executed_ns(job)) * view.facts(job).gpus;
      const auto reached = [&](double limit) { return attained >= limit; };
      const auto& limits = options_.limits_gpu_s;
      queues_[static_cast<std::size_t>(std::count_if(limits.begin(), limits.end(), reached))].push_back(job);
    }
  }

 private:
  void demote(const ClusterView& view) {
    // From the last queue on, so that no job moves twice.
    for (std::size_t q = queues_.size() - 1; q-- > 0;) {
      std::vector<JobIndex> moved;
      for (const JobIndex job : queues_[q]) {
        if (!view.is_running(job)) continue;
        const double attained = to_seconds(view.executed_ns(job)) * view.facts(job).gpus;
        if (attained >= options_.limits_gpu_s[q]) moved.push_back(job);
      }
      std::sort(moved.begin(), moved.end());
      for (const JobIndex job : moved) std::erase(queues_[q], job);
      queues_[q + 1].insert(queues_[q + 1].end(), moved.begin(), moved.end());
    }
  }

  TiresiasOptions options_;
  std::unique_ptr<Placer> placer_;
  std::vector<std::vector<JobIndex>> queues_;
  OrderWalk walk_;
};

}  // namespace

std::unique_ptr<Policy> make_tiresias(const TiresiasOptions& options, std::unique_ptr<Placer> placer) {
  return std::make_unique<Tiresias>(options, std::move(placer));
}

}  // namespace orrery::schedule
