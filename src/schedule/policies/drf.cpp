#include "schedule/policies/drf.h"

#include <algorithm>
#include <deque>

namespace orrery::schedule {

namespace {

struct Resources {
  double gpus = 0, cpus = 0, memory = 0;

  void add(const JobFacts& job, double sign) {
    gpus += sign * job.gpus;
    cpus += sign * job.cpus;
    memory += sign * job.memory;
  }
};

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

class Drf : public Policy {
 public:
  explicit Drf(std::unique_ptr<Placer> placer) : placer_(std::move(placer)) {}

  std::string_view name() const override { return "drf"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.withdrawn) std::erase(tenant(view, job).waiting, job);
    for (const JobIndex job : event.ended) tenant(view, job).used.add(view.facts(job), -1);
    for (const JobIndex job : event.evicted) {
      tenant(view, job).used.add(view.facts(job), -1);
      tenant(view, job).waiting.push_front(job);
    }
    for (const JobIndex job : event.arrived) tenant(view, job).waiting.push_back(job);
    if (view.free_gpus() == 0) return;
    Resources whole;
    for (const MachineView& machine : view.machines()) {
      whole.gpus += machine.gpus;
      whole.cpus += machine.cpus;
      whole.memory += machine.memory;
    }
    FreeGpus free(view);
    std::vector<bool> passed(tenants_.size(), false);
    while (free.total() > 0) {
      Tenant* next = nullptr;
      double least = 0;
      for (std::size_t t = 0; t < tenants_.size(); ++t) {
        if (passed[t] || tenants_[t].waiting.empty()) continue;
        const double share = dominant_share(tenants_[t].used, whole);
        if (next != nullptr && share >= least) continue;
        next = &tenants_[t];
        least = share;
      }
      if (next == nullptr) return;
      const JobIndex job = next->waiting.front();
      auto allocation = placer_->place(view, free, job, view.facts(job).gpus);
      if (!allocation) {
        passed[static_cast<std::size_t>(next - tenants_.data())] = true;
        continue;
      }
      free.take(*allocation);
      next->waiting.pop_front();
      next->used.add(view.facts(job), +1);
      decisions.push_back({.job = job, .allocation = std::move(*allocation), .reason = {Why::kServedLeast, least}});
    }
  }

 private:
  struct Tenant {
    Resources used;
    std::deque<JobIndex> waiting;
  };

  Tenant& tenant(const ClusterView& view, JobIndex job) {
    const auto t = static_cast<std::size_t>(view.facts(job).tenant);
    if (tenants_.size() <= t) tenants_.resize(t + 1);
    return tenants_[t];
  }

  static double dominant_share(const Resources& used, const Resources& whole) {
    return std::max(
        {share_of(used.gpus, whole.gpus), share_of(used.cpus, whole.cpus), share_of(used.memory, whole.memory)});
  }

  std::unique_ptr<Placer> placer_;
  std::vector<Tenant> tenants_;
};

}  // namespace

std::unique_ptr<Policy> make_drf(std::unique_ptr<Placer> placer) {
  return std::make_unique<Drf>(std::move(placer));
}

}  // namespace orrery::schedule
