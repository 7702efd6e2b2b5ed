#include "schedule/policies/optimus_servers.h"

#include <algorithm>

#include "schedule/placement/optimus_placement.h"

namespace orrery::schedule {

namespace {

// Of PsDemand.
constexpr std::size_t kProcessors = 0, kGpus = 3;

PsTasks tasks_in(const Allocation& allocation) {
  return {servers_in(allocation), gpus_in(allocation)};
}

class OptimusServers : public Policy {
 public:
  OptimusServers(const OptimusOptions& options, const ScalingModel& model) : options_(options), model_(model) {}

  std::string_view name() const override { return "optimus-ps"; }
  TimeNs round_ns() const override { return from_seconds(options_.round_s); }

  void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) override {
    for (const auto& gone : {event.ended, event.withdrawn}) {
      for (const JobIndex job : gone) std::erase(active_, job);
    }
    active_.insert(active_.end(), event.arrived.begin(), event.arrived.end());
    view.cover(wanted_);
    for (const JobIndex job : event.forgotten) wanted_.forget(job);
    for (const JobIndex job : event.evicted) wanted(job) = {};
    rooms_.clear();
    for (const MachineView& machine : view.machines()) rooms_.push_back(room_of(machine));
    planned_.clear();
    for (const JobIndex job : active_) {
      if (view.is_protected(job)) {
        take(view.progress(job).allocation);
      } else {
        planned_.push_back(job);
      }
    }
    place(view, tasks_of_all(view), decisions);
  }

  void exchange(StateArchive& state) override {
    std::vector<std::pair<int, int>> wanted_of;  // servers and workers of each active job
    for (const JobIndex job : active_) wanted_of.emplace_back(wanted(job).servers, wanted(job).workers);
    state(active_, wanted_of);
    state.expect_active(active_);
    state.expect(wanted_of.size() == active_.size(), "not every job has tasks");
    if (!state.is_reading() || wanted_of.size() != active_.size()) return;
    state.view().cover(wanted_);
    for (std::size_t i = 0; i < active_.size(); ++i) wanted(active_[i]) = {wanted_of[i].first, wanted_of[i].second};
  }

  void adopt(const ClusterView& view) override {
    active_ = own_jobs(view);
    view.cover(wanted_);
    for (const JobIndex job : active_) wanted(job) = tasks_in(view.progress(job).allocation);
  }

 private:
  PsTasks& wanted(JobIndex job) { return wanted_[job]; }

  static PsDemand room_of(const MachineView& machine) {
    PsDemand room{};
    if (!machine.up) return room;
    room[kProcessors] = machine.servers;
    room[kGpus] = machine.gpus;
    return room;
  }

  void take(const Allocation& allocation) {
    for (const Slice& slice : allocation) {
      PsDemand& room = rooms_[slice.machine];
      room[kProcessors] -= slice.servers;
      room[kGpus] -= slice.gpus;
    }
  }

  PsJob ps_job(const ClusterView& view, JobIndex job) const {
    PsJob result;
    // Without a model it is not known whether more tasks would help.
    result.speed = model_.ps_speed(job).value_or(PsSpeed{.b = 1});
    result.steps_left = model_.steps_left(job);
    result.server[kProcessors] = 1;
    result.worker[kGpus] = 1;
    result.tasks_max = model_.gpus_max(job);
    if (to_seconds(view.executed_ns(job)) < options_.young_s) result.factor = options_.young_factor;
    return result;
  }

  // Of planned_, by place.
  std::vector<PsTasks> tasks_of_all(const ClusterView& view) {
    jobs_.clear();
    for (const JobIndex job : planned_) jobs_.push_back(ps_job(view, job));
    PsDemand capacity{};
    for (const PsDemand& room : rooms_) {
      for (std::size_t r = 0; r < kPsResources; ++r) capacity[r] += room[r];
    }
    OptimusAllocator allocator(jobs_, capacity);
    allocator.allocate();
    return allocator.tasks();
  }

  void place(const ClusterView& view, std::vector<PsTasks> tasks, std::vector<Decision>& decisions) {
    std::vector<bool> stays(planned_.size());
    for (std::size_t i = 0; i < planned_.size(); ++i) {
      const JobProgress& progress = view.progress(planned_[i]);
      // It may have been given less than was wanted for it, when no place was found for all.
      stays[i] =
          view.is_running(planned_[i]) && wanted(planned_[i]) == tasks[i] && progress.slowest_worker >= kStragglerSpeed;
      wanted(planned_[i]) = tasks[i];
      if (!stays[i]) continue;
      take(progress.allocation);
      tasks[i] = {};
    }
    OptimusPlacement placement(rooms_);
    placement.place_all(jobs_, tasks);
    for (std::size_t i = 0; i < planned_.size(); ++i) {
      if (!stays[i]) move(view, planned_[i], placement.places_of(i), decisions);
    }
  }

  void move(const ClusterView& view, JobIndex job, const std::vector<PsPlace>& places,
            std::vector<Decision>& decisions) {
    const bool runs = view.is_running(job);
    const PsTasks before = tasks_in(view.progress(job).allocation);
    Allocation allocation;
    for (const PsPlace& place : places) allocation.push_back({place.server, place.tasks.workers, place.tasks.servers});
    if (allocation.empty()) {
      if (runs) decisions.push_back({.action = Action::kSuspend, .job = job, .reason = {Why::kOvertaken}});
      return;
    }
    const PsTasks after = tasks_in(allocation);
    const bool replaces = runs && before == after;
    const Reason reason = replaces ? Reason{Why::kStraggler, view.progress(job).slowest_worker}
                                   : Reason{Why::kServersAndWorkers, static_cast<double>(after.servers),
                                            static_cast<double>(after.workers)};
    decisions.push_back({.action = !runs      ? Action::kStart
                                   : replaces ? Action::kMigrate
                                              : Action::kResize,
                         .job = job,
                         .allocation = std::move(allocation),
                         .reason = reason});
  }

  OptimusOptions options_;
  const ScalingModel& model_;
  std::vector<JobIndex> active_;                 // in order of submission
  JobTable<PsTasks> wanted_;                     // of the last round
  IndexedVector<MachineIndex, PsDemand> rooms_;  // without the jobs that stay
  std::vector<JobIndex> planned_;                // active_ without protected jobs
  std::vector<PsJob> jobs_;                      // by place in planned_
};

}  // namespace

std::unique_ptr<Policy> make_optimus_servers(const OptimusOptions& options, const ScalingModel& model) {
  return std::make_unique<OptimusServers>(options, model);
}

}  // namespace orrery::schedule
