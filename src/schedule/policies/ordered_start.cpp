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
    if (waiting_.smallest() <= view.free_gpus()) start_what_fits(view, *placer_, waiting_, free_, decisions);
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

// Whether the placer finds GPUs for the first job of a kind, which then starts.
bool start_first_of(const SizeHeaps::Heap& kind, const ClusterView& view, Placer& placer, SizeHeaps& waiting,
                    FreeGpus& free, std::vector<Decision>& decisions) {
  const JobIndex job = kind.top().job;
  auto allocation = placer.place(view, free, job, kind.kind.gpus);
  if (!allocation) return false;
  free.take(*allocation);
  decisions.push_back(
      {.job = job, .allocation = std::move(*allocation), .reason = {Why::kNextInOrder, to_seconds(kind.top().value)}});
  waiting.pop(kind);
  return true;
}

}  // namespace

void start_what_fits(const ClusterView& view, Placer& placer, SizeHeaps& waiting, FreeGpus& free,
                     std::vector<Decision>& decisions) {
  free.assign(view);
  if (view.is_typed()) {
    // What a placer cannot find for one job it cannot find for another of this kind.
    SizeHeaps::Closed closed(waiting.heaps().size(), 0);
    while (const SizeHeaps::Heap* next = waiting.first_open(closed, free.total())) {
      if (!start_first_of(*next, view, placer, waiting, free, decisions)) closed[waiting.place_of(*next)] = 1;
    }
    return;
  }
  // Nor for a larger one.
  int limit = free.total();
  while (const SizeHeaps::Heap* next = waiting.first(std::min(limit, free.total()))) {
    const int gpus = next->kind.gpus;
    if (!start_first_of(*next, view, placer, waiting, free, decisions)) limit = gpus - 1;
  }
}

std::unique_ptr<Policy> make_ordered_start(std::string name, StaticKey key, std::unique_ptr<Placer> placer) {
  return std::make_unique<OrderedStart>(std::move(name), std::move(key), std::move(placer));
}

}  // namespace orrery::schedule
