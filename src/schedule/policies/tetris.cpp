#include "schedule/policies/tetris.h"

#include <algorithm>

namespace orrery::schedule {

namespace {

class Tetris : public Policy {
 public:
  explicit Tetris(std::unique_ptr<Placer> placer) : placer_(std::move(placer)) {}

  std::string_view name() const override { return "tetris"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const JobIndex job : event.withdrawn) std::erase(waiting_, job);
    waiting_.insert(waiting_.end(), event.evicted.begin(), event.evicted.end());
    waiting_.insert(waiting_.end(), event.arrived.begin(), event.arrived.end());
    if (waiting_.empty() || view.free_gpus() == 0) return;
    FreeGpus free(view);
    passed_.clear();
    while (free.total() > 0) {
      const auto best = choose(view, free.total(), free.total());
      if (best == waiting_.end()) return;
      const JobIndex job = *best;
      auto allocation = placer_->place(view, free, job, view.facts(job).gpus);
      if (!allocation) {
        passed_.push_back(job);
        continue;
      }
      free.take(*allocation);
      waiting_.erase(best);
      decisions.push_back({.job = job, .allocation = std::move(*allocation), .reason = {Why::kAligned, score_}});
    }
  }

  void exchange(StateArchive& state) override {
    state(waiting_);
    state.expect_waiting(waiting_);
  }

  void adopt(const ClusterView& view) override {
    for (const JobIndex job : own_jobs(view)) {
      if (!view.is_running(job)) waiting_.push_back(job);
    }
  }

 private:
  static double service(const ClusterView& view, JobIndex job) {
    return to_seconds(std::max<TimeNs>(0, view.expected_left_ns(job))) * view.facts(job).gpus;
  }

  struct Resources {
    double cpus = 0, memory = 0, cpus_free = 0, memory_free = 0;
  };
  static Resources resources_of(const ClusterView& view) {
    Resources sum;
    for (const MachineView& machine : view.machines()) {
      sum.cpus += machine.cpus;
      sum.memory += machine.memory;
      sum.cpus_free += machine.cpus_free;
      sum.memory_free += machine.memory_free;
    }
    return sum;
  }

  static double alignment(const ClusterView& view, const Resources& all, const JobFacts& facts, int free_gpus) {
    const double gpus = view.gpus();
    double sum = facts.gpus / gpus * free_gpus / gpus;
    if (all.cpus > 0) sum += facts.cpus / all.cpus * all.cpus_free / all.cpus;
    if (all.memory > 0) sum += facts.memory / all.memory * all.memory_free / all.memory;
    return sum;
  }

  bool may_start(JobIndex job, const JobFacts& facts, int gpus_max) const {
    return facts.gpus <= gpus_max && std::find(passed_.begin(), passed_.end(), job) == passed_.end();
  }

  std::vector<JobIndex>::iterator choose(const ClusterView& view, int free_gpus, int gpus_max) {
    const Resources all = resources_of(view);
    double most_aligned = 0, most_service = 0;
    services_.clear();
    for (const JobIndex job : waiting_) {
      const JobFacts& facts = view.facts(job);
      services_.push_back(service(view, job));
      most_service = std::max(most_service, services_.back());
      if (may_start(job, facts, gpus_max)) {
        most_aligned = std::max(most_aligned, alignment(view, all, facts, free_gpus));
      }
    }
    auto best = waiting_.end();
    auto own_service = services_.begin();
    for (auto job = waiting_.begin(); job != waiting_.end(); ++job, ++own_service) {
      const JobFacts& facts = view.facts(*job);
      if (!may_start(*job, facts, gpus_max)) continue;
      const double shortness = most_service > 0 ? 1 - *own_service / most_service : 1;
      const double score = alignment(view, all, facts, free_gpus) / most_aligned + shortness;
      if (best != waiting_.end() && score <= score_) continue;
      best = job;
      score_ = score;
    }
    return best;
  }

  std::unique_ptr<Placer> placer_;
  std::vector<JobIndex> waiting_;  // by arrival
  std::vector<JobIndex> passed_;   // no place was found in this call
  std::vector<double> services_;   // that waiting_ still needs
  double score_ = 0;               // of the last choice
};

}  // namespace

std::unique_ptr<Policy> make_tetris(std::unique_ptr<Placer> placer) {
  return std::make_unique<Tetris>(std::move(placer));
}

}  // namespace orrery::schedule
