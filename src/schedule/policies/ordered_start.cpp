#include "schedule/policies/ordered_start.h"

#include <algorithm>

namespace orrery::schedule {

namespace {

class OrderedStart : public Policy {
 public:
  OrderedStart(std::string name, StaticKey key, std::unique_ptr<Placer> placer)
      : name_(std::move(name)), key_(std::move(key)), placer_(std::move(placer)) {}

  std::string_view name() const override { return name_; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.withdrawn) waiting_.remove(kind_of(view, job), job);
    for (const JobIndex job : event.evicted) wait(view, job);
    for (const JobIndex job : event.arrived) wait(view, job);
    for (const JobIndex job : event.revised) {
      if (waiting_.remove(kind_of(view, job), job)) wait(view, job);
    }
    start_what_fits(view, *placer_, waiting_, free_, decisions);
  }

  void exchange(StateArchive& state) override { state(waiting_); }

  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) {
      if (!view.is_running(job)) wait(view, job);
    }
  }

 private:
  void wait(const ClusterView& view, JobIndex job) {
    waiting_.push(kind_of(view, job), {.value = key_(view, job), .first = job.value(), .job = job});
  }

  std::string name_;
  StaticKey key_;
  std::unique_ptr<Placer> placer_;
  SizeHeaps waiting_;
  FreeGpus free_;
};

}  // namespace

void start_what_fits(const ClusterView& view, Placer& placer, SizeHeaps& waiting, FreeGpus& free,
                     std::vector<Decision>& decisions) {
  if (waiting.smallest() > view.free_gpus()) return;
  free.assign(view);
  std::vector<bool> closed(waiting.heaps().size(), false);
  int limit = free.total();
  while (const SizeHeaps::Heap* next = waiting.first_open(closed, std::min(limit, free.total()))) {
    const OrderKey key = next->top();
    const int gpus = next->kind.gpus;
    auto allocation = placer.place(view, free, key.job, gpus);
    if (!allocation) {
      // What a placer cannot find for one job it cannot find for another of this kind; nor, where types do not differ,
      // for a larger one.
      closed[waiting.place_of(*next)] = true;
      if (!view.is_typed()) limit = gpus - 1;
      continue;
    }
    free.take(*allocation);
    waiting.pop(next->kind);
    decisions.push_back(
        {.job = key.job, .allocation = std::move(*allocation), .reason = {Why::kNextInOrder, to_seconds(key.value)}});
  }
}

std::unique_ptr<Policy> make_ordered_start(std::string name, StaticKey key, std::unique_ptr<Placer> placer) {
  return std::make_unique<OrderedStart>(std::move(name), std::move(key), std::move(placer));
}

}  // namespace orrery::schedule
