#include "schedule/policies/ordered_start.h"

#include "schedule/size_heaps.h"

namespace orrery::schedule {

namespace {

class OrderedStart : public Policy {
 public:
  OrderedStart(std::string name, StaticKey key, std::unique_ptr<Placer> placer)
      : name_(std::move(name)), key_(std::move(key)), placer_(std::move(placer)) {}

  std::string_view name() const override { return name_; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.withdrawn) waiting_.remove(view.facts(job).gpus, job);
    for (const JobIndex job : event.evicted) wait(view, job);
    for (const JobIndex job : event.arrived) wait(view, job);
    if (waiting_.smallest() > view.free_gpus()) return;
    free_.assign(view);
    int limit = free_.total();
    while (const OrderKey* next = waiting_.first(std::min(limit, free_.total()))) {
      const OrderKey key = *next;
      const int gpus = view.facts(key.job).gpus;
      auto allocation = placer_->place(view, free_, key.job, gpus);
      if (!allocation) {
        // What this placer cannot find for one job it cannot find for another of this size.
        limit = gpus - 1;
        continue;
      }
      free_.take(*allocation);
      waiting_.pop(gpus);
      decisions.push_back(
          {.job = key.job, .allocation = std::move(*allocation), .reason = {Why::kNextInOrder, to_seconds(key.value)}});
    }
  }

  void exchange(StateArchive& state) override { state(waiting_); }

  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) {
      if (!view.is_running(job)) wait(view, job);
    }
  }

 private:
  void wait(const ClusterView& view, JobIndex job) {
    waiting_.push(view.facts(job).gpus, {.value = key_(view, job), .first = job.value(), .job = job});
  }

  std::string name_;
  StaticKey key_;
  std::unique_ptr<Placer> placer_;
  SizeHeaps waiting_;
  FreeGpus free_;
};

}  // namespace

std::unique_ptr<Policy> make_ordered_start(std::string name, StaticKey key, std::unique_ptr<Placer> placer) {
  return std::make_unique<OrderedStart>(std::move(name), std::move(key), std::move(placer));
}

}  // namespace orrery::schedule
