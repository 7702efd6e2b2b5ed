#include "schedule/policies/online_batch.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "schedule/policies/allox.h"
#include "schedule/policies/hydra.h"

namespace orrery::schedule {

namespace {

class OnlineBatch : public Policy {
 public:
  OnlineBatch(bool deadlines, const OnlineBatchOptions& options, std::unique_ptr<Placer> placer)
      : deadlines_(deadlines), options_(options), placer_(std::move(placer)) {}

  std::string_view name() const override { return deadlines_ ? "hydra" : "allox"; }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    view_ = &view;
    out_ = &decisions;
    for (const JobIndex job : event.withdrawn) std::erase(queue_of(job), job);
    for (const JobIndex job : event.evicted) {
      // By submission, which is the order of the numbers.
      std::vector<JobIndex>& queue = queue_of(job);
      queue.insert(std::lower_bound(queue.begin(), queue.end(), job), job);
    }
    for (const JobIndex job : event.arrived) queue_of(job).push_back(job);
    if (view.free_gpus() == 0) return;
    free_.assign(view);
    rooms_.assign(static_cast<std::size_t>(types()), 0);
    const Machines& machines = view.machines();
    for (const MachineIndex m : machines.indices()) {
      rooms_[static_cast<std::size_t>(type_of(machines[m]))] += free_.on(m);
    }
    start_jobs();
  }

  void exchange(StateArchive& state) override {
    state(singles_, gangs_);
    std::vector<JobIndex> jobs = singles_;
    jobs.insert(jobs.end(), gangs_.begin(), gangs_.end());
    state.expect_waiting(jobs);
  }

  void adopt(const ClusterView& view) override {
    view_ = &view;
    for (const JobIndex job : own_jobs(view)) {
      if (!view.is_running(job)) queue_of(job).push_back(job);
    }
  }

 private:
  // Where types do not differ, all machines are of one.
  std::int32_t types() const { return view_->is_typed() ? view_->types() : 1; }
  std::int32_t type_of(const MachineView& machine) const { return view_->is_typed() ? machine.device : 0; }
  int& room(std::int32_t type) { return rooms_[static_cast<std::size_t>(type)]; }
  std::vector<JobIndex>& queue_of(JobIndex job) { return view_->facts(job).gpus == 1 ? singles_ : gangs_; }

  double runtime_s(JobIndex job, std::int32_t type) const {
    const double speed = view_->speed_on(job, type);
    // A job that has done all its predicted work is assumed to end soon.
    const double left = std::max(1e-3, to_seconds(view_->expected_left_ns(job)));
    return speed > 0 ? left / speed : kNoDeadline;
  }
  double deadline_s(JobIndex job) const {
    const TimeNs deadline = view_->facts(job).deadline_ns;
    return deadline == kNever ? kNoDeadline : to_seconds(deadline - view_->now());
  }

  double latest_start_s(JobIndex job) const { return deadline_s(job) - to_seconds(view_->expected_left_ns(job)); }

  // Whether it could be placed; a placer may prefer to wait.
  bool start(JobIndex job, std::int32_t type, const Reason& reason) {
    const int gpus = view_->facts(job).gpus;
    auto allocation = view_->is_typed() ? placer_->place(*view_, free_.of_type(*view_, type), job, gpus)
                                        : placer_->place(*view_, free_, job, gpus);
    if (!allocation) return false;
    free_.take(*allocation);
    room(type) -= gpus;
    out_->push_back({.job = job, .allocation = std::move(*allocation), .reason = reason});
    return true;
  }

  // Types a job runs on, the fastest first.
  std::vector<std::int32_t> types_of(JobIndex job) const {
    return view_->is_typed() ? view_->types_of(job) : std::vector<std::int32_t>{0};
  }

  void start_jobs() {
    free_types_.clear();
    int free = 0;
    for (std::int32_t type = 0; type < types(); ++type) {
      if (room(type) > 0) free_types_.push_back(type);
      free += std::max(0, room(type));
    }
    if (free_types_.empty()) return;
    const auto wanted = static_cast<std::size_t>(std::ceil(options_.share * static_cast<double>(singles_.size())));
    const std::size_t oldest = std::min(singles_.size(), std::max(wanted, static_cast<std::size_t>(free)));
    std::vector<JobIndex> part(singles_.begin(), singles_.begin() + static_cast<std::ptrdiff_t>(oldest));
    // Jobs that run on none of the free types wait.
    std::erase_if(part, [&](JobIndex job) {
      return view_->is_typed() && std::none_of(free_types_.begin(), free_types_.end(),
                                               [&](std::int32_t type) { return view_->speed_on(job, type) > 0; });
    });
    const bool due = deadlines_ && std::any_of(part.begin(), part.end(),
                                               [&](JobIndex job) { return deadline_s(job) != kNoDeadline; });
    started_.clear();
    if (!due && free_types_.size() == 1) {
      start_shortest(part, free_types_.front());
    } else {
      start_planned(std::move(part), due);
      start_gangs();
    }
    for (std::vector<JobIndex>* waiting : {&singles_, &gangs_}) {
      std::erase_if(*waiting,
                    [&](JobIndex job) { return std::find(started_.begin(), started_.end(), job) != started_.end(); });
    }
  }

  // Into what the plan left free, the shortest first.
  void start_gangs() {
    std::vector<JobIndex> gangs = gangs_;
    std::stable_sort(gangs.begin(), gangs.end(),
                     [&](JobIndex a, JobIndex b) { return view_->left_ns(a) < view_->left_ns(b); });
    for (const JobIndex job : gangs) {
      for (const std::int32_t type : types_of(job)) {
        if (room(type) < view_->facts(job).gpus) continue;
        if (!start(job, type, {Why::kFastestType, view_->speed_on(job, type)})) continue;
        started_.push_back(job);
        break;
      }
    }
  }

  // One type: the plan starts the shortest jobs, and gangs are in the same order.
  void start_shortest(const std::vector<JobIndex>& part, std::int32_t type) {
    using Timed = std::pair<double, JobIndex>;  // of equal run times the older job is first
    std::vector<Timed> singles, gangs;
    for (const JobIndex job : part) singles.emplace_back(runtime_s(job, type), job);
    const auto count = std::min(singles.size(), static_cast<std::size_t>(room(type)));
    std::partial_sort(singles.begin(), singles.begin() + static_cast<std::ptrdiff_t>(count), singles.end());
    for (const JobIndex job : gangs_) {
      const bool may_fit = view_->facts(job).gpus <= room(type) && view_->speed_on(job, type) > 0;
      if (may_fit) gangs.emplace_back(runtime_s(job, type), job);
    }
    std::sort(gangs.begin(), gangs.end());
    auto gang = gangs.begin();
    for (std::size_t i = 0; room(type) > 0 && (i < count || gang != gangs.end());) {
      const bool takes_gang = gang != gangs.end() && (i == count || *gang < singles[i]);
      // The number of jobs that run after it on its machine is the place from the end.
      const auto machines = static_cast<std::size_t>(room(type));
      const std::size_t place = (singles.size() - i + machines - 1) / machines;
      const auto [runtime, job] = takes_gang ? *gang++ : singles[i++];
      if (view_->facts(job).gpus > room(type)) continue;
      if (start(job, type, {Why::kMatched, static_cast<double>(place), runtime})) started_.push_back(job);
    }
  }

  void start_planned(std::vector<JobIndex> part, bool due) {
    if (part.empty()) return;
    const std::size_t count = std::min(part.size(), std::max<std::size_t>(options_.jobs_max, 1));
    if (due && count < part.size()) {
      std::stable_sort(part.begin(), part.end(),
                       [&](JobIndex a, JobIndex b) { return latest_start_s(a) < latest_start_s(b); });
    }
    part.resize(count);
    BatchProblem problem;
    for (const std::int32_t type : free_types_) problem.machines.push_back(room(type));
    for (const JobIndex job : part) {
      BatchJob& planned = problem.jobs.emplace_back();
      for (const std::int32_t type : free_types_) planned.runtime_s.push_back(runtime_s(job, type));
      if (due) planned.deadline_s = deadline_s(job);
    }
    const auto queues = due ? plan_hydra(problem) : solve_allox(problem);
    ORRERY_CHECK(queues.has_value());  // by what is put into the problem
    for (const BatchQueue& queue : *queues) {
      if (queue.jobs.empty()) continue;
      const auto first = static_cast<std::size_t>(queue.jobs.front());
      const JobIndex job = part[first];
      const double runtime = problem.jobs[first].runtime_s[static_cast<std::size_t>(queue.type)];
      const Reason reason = due ? Reason{Why::kDeadlineFirst, problem.jobs[first].deadline_s - runtime}
                                : Reason{Why::kMatched, static_cast<double>(queue.jobs.size()), runtime};
      if (start(job, free_types_[static_cast<std::size_t>(queue.type)], reason)) started_.push_back(job);
    }
  }

  bool deadlines_;
  OnlineBatchOptions options_;
  std::unique_ptr<Placer> placer_;
  const ClusterView* view_ = nullptr;  // of the call, as the next
  std::vector<Decision>* out_ = nullptr;
  std::vector<JobIndex> singles_, gangs_;  // that wait, by submission
  std::vector<int> rooms_;                 // by type: free GPUs
  std::vector<std::int32_t> free_types_;   // with free GPUs
  std::vector<JobIndex> started_;
  FreeGpus free_;
};

}  // namespace

std::unique_ptr<Policy> make_online_allox(std::unique_ptr<Placer> placer, const OnlineBatchOptions& options) {
  return std::make_unique<OnlineBatch>(false, options, std::move(placer));
}

std::unique_ptr<Policy> make_online_hydra(std::unique_ptr<Placer> placer, const OnlineBatchOptions& options) {
  return std::make_unique<OnlineBatch>(true, options, std::move(placer));
}

}  // namespace orrery::schedule
