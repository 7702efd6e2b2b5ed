#include "schedule/policies/list_policies.h"

#include <deque>

#include "schedule/policies/ordered_start.h"
#include "schedule/policies/preemptive_order.h"

namespace orrery::schedule {

namespace {

class Fifo : public Policy {
 public:
  explicit Fifo(std::unique_ptr<Placer> placer) : placer_(std::move(placer)) {}

  std::string_view name() const override { return "fifo"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.withdrawn) std::erase(queue_, job);
    // Jobs that lost their GPUs were before all waiting ones.
    if (!event.evicted.empty()) queue_.insert(queue_.begin(), event.evicted.begin(), event.evicted.end());
    for (const JobIndex job : event.arrived) queue_.push_back(job);
    if (queue_.empty() || view.facts(queue_.front()).gpus > view.free_gpus()) return;
    free_.assign(view);
    while (!queue_.empty()) {
      const JobIndex job = queue_.front();
      auto allocation = placer_->place(view, free_, job, view.facts(job).gpus);
      if (!allocation) return;
      free_.take(*allocation);
      decisions.push_back({.job = job,
                           .allocation = std::move(*allocation),
                           .reason = {Why::kNextInOrder, to_seconds(view.facts(job).submit_ns)}});
      queue_.pop_front();
    }
  }

  void exchange(StateArchive& state) override {
    state(queue_);
    state.expect_waiting({queue_.begin(), queue_.end()});
  }

  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) {
      if (!view.is_running(job)) queue_.push_back(job);
    }
  }

 private:
  std::unique_ptr<Placer> placer_;
  std::deque<JobIndex> queue_;
  FreeGpus free_;
};

}  // namespace

std::unique_ptr<Policy> make_fifo(std::unique_ptr<Placer> placer) {
  return std::make_unique<Fifo>(std::move(placer));
}

std::unique_ptr<Policy> make_first_fit(std::unique_ptr<Placer> placer) {
  const auto arrival = [](const ClusterView& view, JobIndex job) { return view.facts(job).submit_ns; };
  return make_ordered_start("first-fit", arrival, std::move(placer));
}

std::unique_ptr<Policy> make_sjf(std::unique_ptr<Placer> placer) {
  const auto work = [](const ClusterView& view, JobIndex job) { return view.left_ns(job); };
  return make_ordered_start("sjf", work, std::move(placer));
}

std::unique_ptr<Policy> make_srtf(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("srtf", OrderRule::kRemainingTime, std::move(placer));
}

std::unique_ptr<Policy> make_srsf(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("srsf", OrderRule::kRemainingService, std::move(placer));
}

std::unique_ptr<Policy> make_edf(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("edf", OrderRule::kDeadline, std::move(placer));
}

std::unique_ptr<Policy> make_priority(std::unique_ptr<Placer> placer) {
  return make_preemptive_order("priority", OrderRule::kPriority, std::move(placer));
}

}  // namespace orrery::schedule
