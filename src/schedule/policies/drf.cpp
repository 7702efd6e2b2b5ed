#include "schedule/policies/drf.h"

#include <algorithm>
#include <deque>
#include <map>

namespace orrery::schedule {

namespace {

struct Resources {
  double gpus = 0, cpus = 0, memory = 0;

  void add(const JobFacts& job, double sign) {
    gpus += sign * job.gpus;
    cpus += sign * job.cpus;
    memory += sign * job.memory;
  }
  void exchange(StateArchive& state) { state(gpus, cpus, memory); }
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
    for (const JobIndex job : event.ended) tenant(view, job).remove(view.facts(job));
    for (const JobIndex job : event.evicted) {
      tenant(view, job).remove(view.facts(job));
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
      next->add(view.facts(job));
      decisions.push_back({.job = job, .allocation = std::move(*allocation), .reason = {Why::kServedLeast, least}});
    }
  }

  void exchange(StateArchive& state) override {
    const ClusterView& view = state.view();
    std::map<std::size_t, Tenant> with_jobs;
    for (std::size_t t = 0; t < tenants_.size(); ++t) {
      if (tenants_[t].running > 0 || !tenants_[t].waiting.empty()) with_jobs.emplace(t, tenants_[t]);
    }
    state(with_jobs);
    if (!state.is_reading()) return;
    tenants_.clear();
    std::vector<JobIndex> waiting;
    for (const JobIndex job : state.jobs()) {
      Tenant& of_job = tenant(view, job);
      if (state.runs(job)) ++of_job.running;
    }
    for (const auto& [t, read] : with_jobs) {
      state.expect(t < tenants_.size() && tenants_[t].running == read.running, "a tenant has other jobs");
      if (t >= tenants_.size()) return;
      tenants_[t] = read;
      for (const JobIndex job : read.waiting) {
        waiting.push_back(job);
        state.expect(static_cast<std::size_t>(view.facts(job).tenant) == t, "a job is of another tenant");
      }
    }
    state.expect_waiting(waiting);
  }

  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) {
      if (view.is_running(job)) {
        tenant(view, job).add(view.facts(job));
      } else {
        tenant(view, job).waiting.push_back(job);
      }
    }
  }

 private:
  struct Tenant {
    Resources used;
    std::int32_t running = 0;  // jobs
    std::deque<JobIndex> waiting;

    void add(const JobFacts& job) {
      ++running;
      used.add(job, +1);
    }
    // Rounding must not leave a tenant without jobs with something in use.
    void remove(const JobFacts& job) {
      used.add(job, -1);
      if (--running == 0) used = {};
    }
    void exchange(StateArchive& state) { state(used, running, waiting); }
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
