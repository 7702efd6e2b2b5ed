#include "schedule/policies/flow.h"

#include <algorithm>
#include <cmath>

#include "schedule/policies/elastic_grants.h"

namespace orrery::schedule {

namespace {

constexpr double kPowerMax = 0.98;  // of scaling: at 1 the shortest job would get everything

class Flow : public Policy {
 public:
  Flow(const FlowOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return "flow"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.ended) std::erase(active_, job);
    for (const JobIndex job : event.withdrawn) std::erase(active_, job);
    for (const JobIndex job : event.arrived) active_.push_back(job);
    look(view);
    grant(view);
    place(view, decisions);
  }

 private:
  struct Job {
    JobIndex job = kNoJob;
    double alone_s = 0;  // still, on one GPU
    int held = 0;
    int granted = 0;
    int most = 1;
    bool fixed = false;
  };

  void look(const ClusterView& view) {
    jobs_.clear();
    for (const JobIndex job : active_) {
      Job& entry = jobs_.emplace_back();
      entry.job = job;
      entry.alone_s = model_.steps_left(job) * model_.step_s(job, 1);
      entry.held = held_gpus(view, job);
      entry.most = std::max(1, std::min(model_.gpus_max(job), view.gpus()));
      entry.fixed = view.is_protected(job);
    }
    std::stable_sort(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) { return a.alone_s < b.alone_s; });
  }

  // p where speed grows like k^p around `gpus`.
  double power(JobIndex job, int gpus) const {
    const double ratio = model_.step_s(job, gpus) / model_.step_s(job, 2 * gpus);
    return std::clamp(std::log2(ratio), 0.0, kPowerMax);
  }

  void grant(const ClusterView& view) {
    int left = view.gpus();
    for (Job& job : jobs_) {
      if (!job.fixed) continue;
      job.granted = job.held;
      left -= job.held;
    }
    double behind = static_cast<double>(jobs_.size());
    for (Job& job : jobs_) {
      const double jobs_left = behind--;
      if (job.fixed || left == 0) continue;
      const int wanted = share(job, jobs_left, left);
      job.granted = keeps(job, wanted, left) ? job.held : wanted;
      left -= job.granted;
    }
    for (Job& job : jobs_) {
      if (left == 0) break;
      if (job.fixed || job.granted == 0) continue;
      const int more = std::min(job.most, job.granted + left);
      const bool worth_it = job.held == 0 || job.granted != job.held || more >= options_.slack * job.held;
      if (more <= job.granted || !worth_it || model_.step_s(job.job, more) >= model_.step_s(job.job, job.granted))
        continue;
      left -= more - job.granted;
      job.granted = more;
    }
  }

  // The most GPUs that are no more than the part of `left` which scaling around so many deserves.
  int share(const Job& job, double jobs_left, int left) const {
    int low = 1, high = std::min(job.most, left);
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      const double q = 1 / (1 - power(job.job, middle));
      const double part = 1 - std::pow((jobs_left - 1) / jobs_left, q);
      if (middle <= part * left + 0.5) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  bool keeps(const Job& job, int wanted, int left) const {
    if (job.held == 0 || job.held > left) return false;
    const double speedup = model_.step_s(job.job, 1) / model_.step_s(job.job, job.held);
    if (job.alone_s / speedup < options_.change_s) return true;
    return job.held <= options_.slack * wanted && wanted <= options_.slack * job.held;
  }

  void place(const ClusterView& view, std::vector<Decision>& decisions) {
    std::vector<Grant> grants;
    for (const Job& job : jobs_) {
      const Reason reason = {Why::kFlow, job.alone_s, static_cast<double>(job.granted)};
      grants.push_back({.job = job.job, .gpus = job.granted, .reason = reason});
    }
    carry_out(view, *placer_, grants, decisions);
  }

  FlowOptions options_;
  const ScalingModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;
  std::vector<Job> jobs_;
};

}  // namespace

std::unique_ptr<Policy> make_flow(const FlowOptions& options, const ScalingModel& model,
                                  std::unique_ptr<Placer> placer) {
  return std::make_unique<Flow>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
