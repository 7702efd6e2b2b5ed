#include "schedule/policies/fifo.h"

#include <deque>

namespace orrery::schedule {

namespace {

class Fifo : public Policy {
 public:
  explicit Fifo(std::unique_ptr<Placer> placer) : placer_(std::move(placer)) {}

  std::string_view name() const override { return "fifo"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.withdrawn) std::erase(queue_, job);
    // Jobs that lost their GPUs were before all waiting ones.
    queue_.insert(queue_.begin(), event.evicted.begin(), event.evicted.end());
    queue_.insert(queue_.end(), event.arrived.begin(), event.arrived.end());
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

}  // namespace orrery::schedule
