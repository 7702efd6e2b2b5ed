#include "schedule/policies/sia.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/policies/elastic_grants.h"

namespace orrery::schedule {

namespace {

constexpr double kCannot = std::numeric_limits<double>::infinity();
constexpr double kWorthLeast = 1e-3;  // of a configuration that costs more restarts than the job is old

// What a job may change to, and what that is worth.
struct Step {
  int configuration = -1;
  double saved = 0;     // cost
  double per_gpu = -1;  // saved, for each GPU it takes; infinite: it takes none. Below 0: there is no step
};

class Assignment {
 public:
  explicit Assignment(const ConfigurationProblem& problem)
      : problem_(problem), left_(problem.gpus), chosen_(problem.costs.size(), -1) {}

  std::vector<int> build() && {
    std::vector<Step> steps;
    for (std::size_t job = 0; job < chosen_.size(); ++job) steps.push_back(best_step(job));
    for (;;) {
      const auto best = std::max_element(steps.begin(), steps.end(),
                                         [](const Step& a, const Step& b) { return a.per_gpu < b.per_gpu; });
      if (best == steps.end() || best->per_gpu < 0) return std::move(chosen_);
      const auto job = static_cast<std::size_t>(best - steps.begin());
      if (!fits(job, best->configuration)) {
        steps[job] = best_step(job);
        continue;
      }
      change(job, best->configuration);
      for (std::size_t other = 0; other < steps.size(); ++other) {
        // GPUs that were given back may allow better steps; GPUs that were taken are noticed when a step is due.
        if (other == job || gave_back_) steps[other] = best_step(other);
      }
    }
  }

 private:
  const ConfigurationProblem::Configuration& configuration(int index) const {
    return problem_.configurations[static_cast<std::size_t>(index)];
  }
  double cost(std::size_t job, int index) const {
    return index < 0 ? problem_.waiting_cost : problem_.costs[job][static_cast<std::size_t>(index)];
  }
  // GPUs of its type that a job has with its configuration.
  int has(std::size_t job, std::int32_t type) const {
    const int index = chosen_[job];
    return index >= 0 && configuration(index).type == type ? configuration(index).gpus : 0;
  }
  bool fits(std::size_t job, int index) const {
    const auto& wanted = configuration(index);
    return wanted.gpus <= left_[static_cast<std::size_t>(wanted.type)] + has(job, wanted.type);
  }

  Step best_step(std::size_t job) const {
    Step best;
    const int before = chosen_[job] < 0 ? 0 : configuration(chosen_[job]).gpus;
    for (int index = 0; index < static_cast<int>(problem_.configurations.size()); ++index) {
      const double saved = cost(job, chosen_[job]) - cost(job, index);
      if (!(saved > 0) || !fits(job, index)) continue;
      const int more = configuration(index).gpus - before;
      const double per_gpu = more > 0 ? saved / more : kCannot;
      if (per_gpu > best.per_gpu || (per_gpu == best.per_gpu && saved > best.saved)) best = {index, saved, per_gpu};
    }
    return best;
  }

  void change(std::size_t job, int index) {
    gave_back_ = chosen_[job] >= 0 && configuration(chosen_[job]).type != configuration(index).type;
    if (chosen_[job] >= 0) {
      const auto& before = configuration(chosen_[job]);
      gave_back_ = gave_back_ || configuration(index).gpus < before.gpus;
      left_[static_cast<std::size_t>(before.type)] += before.gpus;
    }
    left_[static_cast<std::size_t>(configuration(index).type)] -= configuration(index).gpus;
    chosen_[job] = index;
  }

  const ConfigurationProblem& problem_;
  std::vector<int> left_;
  std::vector<int> chosen_;
  bool gave_back_ = false;  // by the last change
};

class Sia : public Policy {
 public:
  Sia(const SiaOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return "sia"; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.ended) std::erase(active_, job);
    for (const JobIndex job : event.withdrawn) std::erase(active_, job);
    active_.insert(active_.end(), event.arrived.begin(), event.arrived.end());
    const bool changed =
        !event.ended.empty() || !event.withdrawn.empty() || !event.arrived.empty() || !event.evicted.empty();
    if (!changed && !event.machines_changed && !somebody_protected_) return;
    std::vector<JobIndex> jobs;
    ConfigurationProblem problem = problem_of(view, jobs);
    const std::vector<int> chosen = assign_configurations(problem);
    std::vector<Grant> grants;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Grant& grant = grants.emplace_back(Grant{.job = jobs[i]});
      if (chosen[i] < 0) continue;
      const auto& configuration = problem.configurations[static_cast<std::size_t>(chosen[i])];
      grant.gpus = configuration.gpus;
      grant.type = configuration.type;
      const double worth = std::pow(problem.costs[i][static_cast<std::size_t>(chosen[i])], 1 / options_.power);
      grant.reason = {Why::kConfiguration, static_cast<double>(grant.gpus), worth};
    }
    carry_out(view, *placer_, grants, decisions);
  }

  void exchange(StateArchive& state) override {
    state(active_, somebody_protected_);
    state.expect_active(active_);
  }

  void adopt(const ClusterView& view) override { active_ = own_jobs(view); }

 private:
  // Step 1: by type, then GPUs.
  static std::vector<ConfigurationProblem::Configuration> configurations_of(const ClusterView& view,
                                                                            const std::vector<int>& gpus) {
    std::vector<int> machine(gpus.size(), 0);
    for (const MachineView& one : view.machines()) {
      int& largest = machine[view.is_typed() ? static_cast<std::size_t>(one.device) : 0];
      if (one.up) largest = std::max(largest, one.gpus);
    }
    std::vector<ConfigurationProblem::Configuration> result;
    for (std::size_t type = 0; type < gpus.size(); ++type) {
      const auto add = [&](int count) { result.push_back({static_cast<std::int32_t>(type), count}); };
      for (int count = 1; count < machine[type] && count <= gpus[type]; count *= 2) add(count);
      for (int count = machine[type]; count > 0 && count <= gpus[type]; count *= 2) add(count);
    }
    return result;
  }

  double speed(const ClusterView& view, JobIndex job, const ConfigurationProblem::Configuration& configuration) const {
    if (configuration.gpus > model_.gpus_max(job)) return 0;
    const double by_type = view.is_typed() ? view.speed_on(job, configuration.type) : 1;
    return by_type / model_.step_s(job, configuration.gpus);
  }

  // Step 2: what is left of a worth after a restart.
  double restart_factor(const ClusterView& view, JobIndex job) const {
    const double age = to_seconds(view.now() - view.facts(job).submit_ns);
    const double lost = view.progress(job).starts * options_.restart_s;
    return std::max(age - lost, 0.0) / (age + options_.restart_s);
  }

  std::vector<double> costs_of(const ClusterView& view, JobIndex job,
                               const std::vector<ConfigurationProblem::Configuration>& configurations) const {
    std::vector<double> speeds;
    double slowest = kCannot;
    for (const auto& configuration : configurations) {
      speeds.push_back(speed(view, job, configuration));
      if (speeds.back() > 0) slowest = std::min(slowest, speeds.back());
    }
    const int held = held_gpus(view, job);
    const std::int32_t type = held_type(view, job);
    const double factor = held > 0 ? restart_factor(view, job) : 1;
    std::vector<double> costs;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const bool same = configurations[i].gpus == held && configurations[i].type == type;
      const double worth = speeds[i] / slowest * (same ? 1 : factor);
      costs.push_back(speeds[i] > 0 ? std::pow(std::max(worth, kWorthLeast), options_.power) : kCannot);
    }
    return costs;
  }

  ConfigurationProblem problem_of(const ClusterView& view, std::vector<JobIndex>& jobs) {
    ConfigurationProblem problem;
    problem.gpus = gpus_by_type(view);
    problem.configurations = configurations_of(view, problem.gpus);
    problem.waiting_cost = options_.waiting_cost;
    somebody_protected_ = false;
    for (const JobIndex job : active_) {
      if (view.is_protected(job)) {
        somebody_protected_ = true;
        problem.gpus[static_cast<std::size_t>(held_type(view, job))] -= held_gpus(view, job);
        continue;
      }
      jobs.push_back(job);
      problem.costs.push_back(costs_of(view, job, problem.configurations));
    }
    return problem;
  }

  SiaOptions options_;
  const ScalingModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;  // in order of submission
  bool somebody_protected_ = false;
};

}  // namespace

std::vector<int> assign_configurations(const ConfigurationProblem& problem) {
  return Assignment(problem).build();
}

std::unique_ptr<Policy> make_sia(const SiaOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer) {
  return std::make_unique<Sia>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
