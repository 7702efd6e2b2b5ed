#include "schedule/policies/pollux.h"

#include <algorithm>
#include <limits>

namespace orrery::schedule {

namespace {

constexpr double kWorthIt = 1e-6;
constexpr std::size_t kLookAhead = 3;     // sizes: some pay only together
constexpr std::size_t kGrowthsTried = 8;  // that would need GPUs of others
constexpr int kChangesMax = 1000;         // of one round

class Pollux : public Policy {
 public:
  Pollux(const PolluxOptions& options, const GoodputModel& model, std::unique_ptr<Placer> placer)
      : options_(options), model_(model), placer_(std::move(placer)) {}

  std::string_view name() const override { return "pollux"; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.ended) std::erase(active_, job);
    for (const JobIndex job : event.withdrawn) std::erase(active_, job);
    for (const JobIndex job : event.arrived) active_.push_back(job);
    look(view);
    std::vector<std::size_t> now(jobs_.size()), none(jobs_.size(), 0);
    for (std::size_t j = 0; j < jobs_.size(); ++j) now[j] = jobs_[j].current;
    const double kept = improve(gpus_, now), anew = improve(gpus_, none);
    carry_out(view, kept <= anew + kWorthIt ? now : none, decisions);
  }

  void exchange(StateArchive& state) override {
    state(active_);
    state.expect_active(active_);
  }

  void adopt(const ClusterView& view) override { active_ = own_jobs(view); }

 private:
  struct Job {
    JobIndex job = kNoJob;
    std::vector<int> sizes;    // 0 first
    std::vector<double> cost;  // 1 / speedup by size, with what a restart takes
    std::size_t current = 0;   // place in sizes
  };

  void look(const ClusterView& view) {
    jobs_.clear();
    gpus_ = view.gpus();
    for (const JobIndex job : active_) {
      if (view.is_protected(job)) {
        gpus_ -= gpus_in(view.progress(job).allocation);
        continue;
      }
      Job& entry = jobs_.emplace_back();
      entry.job = job;
      const int held = view.is_running(job) ? gpus_in(view.progress(job).allocation) : 0;
      const int most = std::min(model_.goodput_gpus_max(job), view.gpus());
      const double one = model_.goodput(job, 1);
      entry.sizes = {0};
      entry.cost = {1 / options_.none_speedup};
      double best = 0;
      for (int gpus = 1; gpus <= most; gpus += gpus < options_.gpus_per_machine ? 1 : options_.gpus_per_machine) {
        const double speedup = model_.goodput(job, gpus) / one;
        // More GPUs that do not help are no size, unless it has them.
        if (!(speedup > best) && gpus != held) continue;
        best = std::max(best, speedup);
        entry.sizes.push_back(gpus);
        entry.cost.push_back(1 / std::max(speedup, 1e-9));
      }
      const auto same = std::find(entry.sizes.begin(), entry.sizes.end(), held);
      entry.current = same == entry.sizes.end() ? 0 : static_cast<std::size_t>(same - entry.sizes.begin());
      if (held > 0) add_restart(view, entry);
    }
  }

  void add_restart(const ClusterView& view, Job& entry) const {
    const double age_s = to_seconds(view.now() - view.facts(entry.job).submit_ns);
    const int restarts = view.progress(entry.job).starts - 1;
    const double factor = std::max(age_s - restarts * options_.restart_s, 0.0) / (age_s + options_.restart_s);
    for (std::size_t i = 1; i < entry.cost.size(); ++i) {
      if (i != entry.current) entry.cost[i] /= std::max(factor, 1e-3);
    }
  }

  struct Step {
    double per_gpu = 0;  // what is saved, or lost, for each GPU
    double cost = 0;     // the same in all
    std::size_t place = 0, to = 0;
    int gpus = 0;
  };

  // Of the next sizes of each job the one that saves most for each GPU; the best job first.
  std::vector<Step> growths(const std::vector<std::size_t>& sizes) const {
    std::vector<Step> result;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const Job& job = jobs_[j];
      Step best;
      for (std::size_t to = sizes[j] + 1; to < std::min(job.sizes.size(), sizes[j] + 1 + kLookAhead); ++to) {
        const int gpus = job.sizes[to] - job.sizes[sizes[j]];
        const double saved = job.cost[sizes[j]] - job.cost[to];
        if (saved / gpus > best.per_gpu) best = {saved / gpus, saved, j, to, gpus};
      }
      if (best.per_gpu > kWorthIt) result.push_back(best);
    }
    std::stable_sort(result.begin(), result.end(), [](const Step& a, const Step& b) { return a.per_gpu > b.per_gpu; });
    return result;
  }

  // One size down of each job; the one that loses least for each GPU first.
  std::vector<Step> losses(const std::vector<std::size_t>& sizes) const {
    std::vector<Step> result;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (sizes[j] == 0) continue;
      const Job& job = jobs_[j];
      const int gpus = job.sizes[sizes[j]] - job.sizes[sizes[j] - 1];
      const double lost = job.cost[sizes[j] - 1] - job.cost[sizes[j]];
      result.push_back({lost / gpus, lost, j, sizes[j] - 1, gpus});
    }
    std::stable_sort(result.begin(), result.end(), [](const Step& a, const Step& b) { return a.per_gpu < b.per_gpu; });
    return result;
  }

  // Changes sizes for the better until nothing helps; returns the sum of costs.
  double improve(int gpus, std::vector<std::size_t>& sizes) const {
    int free = gpus;
    double sum = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      free -= jobs_[j].sizes[sizes[j]];
      sum += jobs_[j].cost[sizes[j]];
    }
    for (int changes = 0; changes < kChangesMax; ++changes) {
      const std::vector<Step> wanted = growths(sizes), given = losses(sizes);
      const auto fits = std::find_if(wanted.begin(), wanted.end(), [free](const Step& s) { return s.gpus <= free; });
      if (fits != wanted.end()) {
        sizes[fits->place] = fits->to;
        free -= fits->gpus;
        sum -= fits->cost;
        continue;
      }
      if (!take_from_others(wanted, given, sizes, free, sum)) break;
    }
    return sum;
  }

  // The first growth that saves more than the jobs lose that have to give GPUs for it.
  static bool take_from_others(const std::vector<Step>& wanted, const std::vector<Step>& given,
                               std::vector<std::size_t>& sizes, int& free, double& sum) {
    for (std::size_t w = 0; w < std::min<std::size_t>(wanted.size(), kGrowthsTried); ++w) {
      const Step& growth = wanted[w];
      std::vector<const Step*> givers;
      int there = free;
      double lost = 0;
      for (const Step& loss : given) {
        if (there >= growth.gpus) break;
        if (loss.place == growth.place) continue;
        givers.push_back(&loss);
        there += loss.gpus;
        lost += loss.cost;
      }
      if (there < growth.gpus || growth.cost - lost <= kWorthIt) continue;
      sizes[growth.place] = growth.to;
      for (const Step* giver : givers) sizes[giver->place] = giver->to;
      free = there - growth.gpus;
      sum -= growth.cost - lost;
      return true;
    }
    return false;
  }

  void carry_out(const ClusterView& view, const std::vector<std::size_t>& sizes, std::vector<Decision>& decisions) {
    FreeGpus free;
    free.assign(view);
    std::vector<std::size_t> changed;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const bool running = view.is_running(jobs_[j].job);
      if (running && sizes[j] == jobs_[j].current) continue;
      if (running) free.give(view.progress(jobs_[j].job).allocation);
      if (running && sizes[j] == 0) {
        decisions.push_back({.action = Action::kSuspend, .job = jobs_[j].job, .reason = {Why::kSpeedup, 0, 0}});
      } else if (sizes[j] > 0) {
        changed.push_back(j);
      }
    }
    std::stable_sort(changed.begin(), changed.end(),
                     [&](std::size_t a, std::size_t b) { return jobs_[a].sizes[sizes[a]] > jobs_[b].sizes[sizes[b]]; });
    for (const std::size_t j : changed) {
      const JobIndex job = jobs_[j].job;
      const int gpus = jobs_[j].sizes[sizes[j]];
      Allocation allocation = take_gpus(*placer_, view, free, job, gpus);
      decisions.push_back({.action = view.is_running(job) ? Action::kResize : Action::kStart,
                           .job = job,
                           .allocation = std::move(allocation),
                           .reason = {Why::kSpeedup, static_cast<double>(gpus), 1 / jobs_[j].cost[sizes[j]]}});
    }
  }

  PolluxOptions options_;
  const GoodputModel& model_;
  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> active_;  // in order of submission
  int gpus_ = 0;                  // that are not held by jobs which must not be suspended yet
  std::vector<Job> jobs_;
};

}  // namespace

std::unique_ptr<Policy> make_pollux(const PolluxOptions& options, const GoodputModel& model,
                                    std::unique_ptr<Placer> placer) {
  return std::make_unique<Pollux>(options, model, std::move(placer));
}

namespace {

class FixedBatch : public GoodputModel {
 public:
  explicit FixedBatch(const ScalingModel& model) : model_(model) {}

  double goodput(JobIndex job, int gpus) const override {
    return gpus > model_.gpus_max(job) ? 0 : 1 / model_.step_s(job, gpus);
  }
  int goodput_gpus_max(JobIndex job) const override { return model_.gpus_max(job); }
  double step_s(JobIndex job, int gpus) const override { return model_.step_s(job, gpus); }
  double steps_left(JobIndex job) const override { return model_.steps_left(job); }
  int gpus_max(JobIndex job) const override { return model_.gpus_max(job); }

 private:
  const ScalingModel& model_;
};

// Keeps the model that Pollux borrows.
class FixedBatchPollux : public Policy {
 public:
  FixedBatchPollux(const PolluxOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer)
      : model_(model), pollux_(make_pollux(options, model_, std::move(placer))) {}

  std::string_view name() const override { return pollux_->name(); }
  TimeNs round_ns() const override { return pollux_->round_ns(); }
  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    pollux_->decide(view, event, decisions);
  }
  void exchange(StateArchive& state) override { pollux_->exchange(state); }
  void adopt(const ClusterView& view) override { pollux_->adopt(view); }

 private:
  FixedBatch model_;
  std::unique_ptr<Policy> pollux_;
};

}  // namespace

std::unique_ptr<Policy> make_fixed_batch_pollux(const PolluxOptions& options, const ScalingModel& model,
                                                std::unique_ptr<Placer> placer) {
  return std::make_unique<FixedBatchPollux>(options, model, std::move(placer));
}

}  // namespace orrery::schedule
