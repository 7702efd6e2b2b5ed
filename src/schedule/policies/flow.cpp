#include "schedule/policies/flow.h"

#include <algorithm>

#include "schedule/policies/elastic_grants.h"
#include "schedule/work_values.h"

namespace orrery::schedule {

namespace {

constexpr int kPriceSteps = 50;
constexpr std::size_t kValuedMin = 1000;

struct FlowJob {
  JobIndex job = kNoJob;
  Speedup speedup;
  double alone_s = 0;  // still, on one GPU
  double value = 0;    // of a step
  double change = 0;   // share of the speed that a change costs
  int held = 0;
  int granted = 0;
  bool fixed = false;

  double worth(int gpus) const {
    if (gpus == held || held == 0) return value * speedup.at(gpus);
    return gpus == 0 ? -change * value * speedup.at(held) : value * speedup.at(gpus) * (1 - change);
  }

  // The number of GPUs with the largest worth - price x GPUs.
  int wanted_at(double price) const {
    const double part = held > 0 ? 1 - change : 1;
    int low = 0, high = speedup.most();
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (value * part * speedup.gain(middle) > price) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return held > 0 && worth(held) - price * held >= worth(low) - price * low ? held : low;
  }

  // The next number of GPUs worth having, with at most `left` more; what it has if there is none.
  int next(int left) const {
    const int most = std::min(speedup.most(), granted + left);
    const bool keeps = held > 0 && granted == held;
    return keeps ? most : std::min(most, granted + 1);
  }
};

class Flow : public Policy {
 public:
  Flow(const FlowOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return "flow"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.ended) std::erase(active_, job);
    for (const JobIndex job : event.withdrawn) std::erase(active_, job);
    for (const JobIndex job : event.arrived) active_.push_back(job);
    if (view.gpus() == 0) return;
    look(view);
    value(view.gpus());
    grant(view.gpus());
    place(view, decisions);
  }

 private:
  void look(const ClusterView& view) {
    order_.clear();
    for (const JobIndex job : active_) order_.emplace_back(model_.steps_left(job) * model_.step_s(job, 1), job);
    std::stable_sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    valued_ = std::min(order_.size(), std::max(kValuedMin, 2 * static_cast<std::size_t>(view.gpus())));
    jobs_.clear();
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto [alone_s, job] = order_[i];
      const int held = held_gpus(view, job);
      if (i >= valued_ && held == 0) continue;
      FlowJob entry{.job = job, .speedup = speedup_of(job, view.gpus()), .alone_s = alone_s, .held = held};
      entry.fixed = view.is_protected(job);
      if (held > 0 && !entry.fixed) {
        entry.held = std::min(held, entry.speedup.most());
        const double left_s = alone_s * entry.speedup.at(1) / entry.speedup.at(entry.held);
        entry.change = std::min(1.0, options_.change_s / std::min(left_s, options_.horizon_s));
      }
      jobs_.push_back(std::move(entry));
    }
  }

  Speedup speedup_of(JobIndex job, int gpus) const {
    const int most = std::max(1, std::min(model_.gpus_max(job), gpus));
    std::vector<double> speeds;
    for (int k = 1; k <= most; ++k) speeds.push_back(1 / model_.step_s(job, k));
    return Speedup(std::move(speeds));
  }

  void value(int gpus) {
    std::vector<ValuedJob> valued;
    for (std::size_t i = 0; i < valued_; ++i) valued.push_back({&jobs_[i].speedup});
    // Those behind wait as long as the last.
    if (!valued.empty()) valued.back().weight += static_cast<double>(order_.size() - valued_);
    const std::vector<double> values = work_values(valued, gpus);
    for (std::size_t i = 0; i < valued_; ++i) jobs_[i].value = values[i];
  }

  void grant(int gpus) {
    double high = 0;  // nobody wants anything at this price
    for (FlowJob& job : jobs_) {
      if (job.fixed) gpus -= job.granted = job.held;
      high = std::max(high, 3 * job.value * job.speedup.at(1));
    }
    gpus = std::max(0, gpus);
    if (demand(0) > gpus) {
      double low = 0;
      for (int i = 0; i < kPriceSteps; ++i) {
        const double middle = (low + high) / 2;
        (demand(middle) > gpus ? low : high) = middle;
      }
      demand(high);
    }
    for (const FlowJob& job : jobs_) {
      if (!job.fixed) gpus -= job.granted;
    }
    fill(gpus);
  }

  // GPUs that all want together at a price; each is granted what it wants.
  int demand(double price) {
    int sum = 0;
    for (FlowJob& job : jobs_) {
      if (!job.fixed) sum += job.granted = job.wanted_at(price);
    }
    return sum;
  }

  void fill(int left) {
    while (left > 0) {
      FlowJob* best = nullptr;
      double best_gain = 0;
      for (FlowJob& job : jobs_) {
        const int to = job.next(left);
        if (job.fixed || to == job.granted) continue;
        const double gain = (job.worth(to) - job.worth(job.granted)) / (to - job.granted);
        if (gain > best_gain) {
          best_gain = gain;
          best = &job;
        }
      }
      if (best == nullptr) break;
      const int to = best->next(left);
      left -= to - best->granted;
      best->granted = to;
    }
  }

  void place(const ClusterView& view, std::vector<Decision>& decisions) {
    std::vector<Grant> grants;
    for (const FlowJob& job : jobs_) {
      const Reason reason = {Why::kFlow, job.alone_s, static_cast<double>(job.granted)};
      grants.push_back({.job = job.job, .gpus = job.granted, .reason = reason});
    }
    carry_out(view, *placer_, grants, decisions);
  }

  FlowOptions options_;
  const ScalingModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;
  std::vector<std::pair<double, JobIndex>> order_;  // time on one GPU
  std::size_t valued_ = 0;                          // so many of the first of them have a value
  std::vector<FlowJob> jobs_;                       // these, then others that hold GPUs
};

}  // namespace

std::unique_ptr<Policy> make_flow(const FlowOptions& options, const ScalingModel& model,
                                  std::unique_ptr<Placer> placer) {
  return std::make_unique<Flow>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
