#include "plan/scheduler_adapter.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace orrery::plan {

using schedule::ClusterView;
using schedule::JobIndex;
using schedule::MachineIndex;
using schedule::MachineView;

namespace {

constexpr double kAlmostDoneS = 1;  // least remaining time of a job that has not ended

double weight_of(const schedule::JobFacts& facts) {
  return 1 + std::max(0.0, facts.priority);
}

// What a second of a GPU is worth that works for the job.
double merit(const ClusterView& view, JobIndex job) {
  const double left = std::max(schedule::to_seconds(view.expected_left_ns(job)), kAlmostDoneS);
  return weight_of(view.facts(job)) / (left * view.facts(job).gpus);
}

bool runs_on(const ClusterView& view, JobIndex job, const MachineView& machine) {
  return machine.up && (!view.is_typed() || view.speed_on(job, machine.device) > 0);
}

// Of those that are up and of a type the job runs on: a plan has no others for it.
int largest_machine(const ClusterView& view, JobIndex job) {
  int most = 0;
  for (const MachineView& machine : view.machines()) {
    if (runs_on(view, job, machine)) most = std::max(most, static_cast<int>(machine.gpus));
  }
  return std::min(most, kVmGpusMax);
}

// GPUs for the job from machines with most free ones; empty if there are not enough.
schedule::Allocation spread(const ClusterView& view, JobIndex job, const IndexedVector<MachineIndex, int>& free) {
  std::vector<std::pair<int, MachineIndex>> machines;
  for (const MachineIndex m : free.indices()) {
    if (free[m] > 0 && runs_on(view, job, view.machines()[m])) {
      machines.emplace_back(-free[m], m);
    }
  }
  std::sort(machines.begin(), machines.end());
  schedule::Allocation allocation;
  int left = view.facts(job).gpus;
  for (const auto& [negative, machine] : machines) {
    if (left == 0) break;
    const int taken = std::min(left, -negative);
    allocation.push_back({.machine = machine, .gpus = taken});
    left -= taken;
  }
  if (left > 0) allocation.clear();
  return allocation;
}

}  // namespace

bool SchedulerAdapter::is_gang(const ClusterView& view, JobIndex job) const {
  return view.facts(job).gpus > largest_machine(view, job) ||
         (view.is_running(job) && view.progress(job).allocation.size() > 1);
}

void SchedulerAdapter::start_first(const ClusterView& view, std::vector<schedule::Decision>& decisions) {
  of_gangs_.clear();
  only_gangs_ = false;
  IndexedVector<MachineIndex, int> free;
  for (const MachineView& machine : view.machines()) free.push_back(machine.free);
  std::vector<std::pair<double, JobIndex>> gangs;
  double before = -std::numeric_limits<double>::infinity();  // the largest merit of those that are planned
  for (const JobIndex job : there()) {
    if (view.progress(job).is_withheld) continue;
    if (view.is_running(job)) {
      if (is_gang(view, job)) hold(view.progress(job).allocation);
      continue;
    }
    if (is_gang(view, job))
      gangs.emplace_back(-merit(view, job), job);
    else
      before = std::max(before, merit(view, job));
  }
  std::sort(gangs.begin(), gangs.end());
  for (const auto& [negative, job] : gangs) {
    if (-negative < before) break;
    const schedule::Allocation allocation = spread(view, job, free);
    only_gangs_ = allocation.empty();
    if (only_gangs_) break;
    for (const schedule::Slice& one : allocation) free[one.machine] -= one.gpus;
    hold(allocation);
    decisions.push_back({.action = schedule::Action::kStart,
                         .job = job,
                         .allocation = allocation,
                         .reason = {schedule::Why::kCheapestPlan}});
  }
}

void SchedulerAdapter::hold(const schedule::Allocation& allocation) {
  for (const schedule::Slice& one : allocation) of_gangs_[one.machine] += one.gpus;
}

void SchedulerAdapter::add_machines(const ClusterView& view, Situation& situation) const {
  std::map<std::pair<std::int32_t, int>, std::size_t> kinds;
  Instance& instance = situation.instance;
  instance.vm_types.clear();
  instance.nodes = 0;
  for (const MachineIndex m : view.machines().indices()) {
    const MachineView& machine = view.machines()[m];
    const auto gang = of_gangs_.find(m);
    const int gpus = std::min(machine.gpus - (gang != of_gangs_.end() ? gang->second : 0), kVmGpusMax);
    situation.vm_of.push_back(kNoVm);
    if (!machine.up || gpus <= 0) continue;
    const auto [kind, is_new] = kinds.try_emplace({machine.device, gpus}, instance.vm_types.size());
    if (is_new)
      instance.vm_types.push_back(
          {fmt::format("{} x {}", machine.device, gpus), fmt::format("{}", machine.device), gpus, 0, 0});
    ++instance.vm_types[kind->second].nodes_max;
    ++instance.nodes;
    situation.vm_of.back() = kind->second;
  }
}

Job SchedulerAdapter::job_of(const ClusterView& view, JobIndex index) const {
  const schedule::JobFacts& facts = view.facts(index);
  const double submit = schedule::to_seconds(facts.submit_ns);
  Job job{.id = fmt::format("{}", index), .submit_s = submit, .due_s = submit, .weight_usd_s = weight_of(facts)};
  if (facts.deadline_ns != schedule::kNever) job.due_s = schedule::to_seconds(facts.deadline_ns);
  const double asked_s = std::max(schedule::to_seconds(view.expected_left_ns(index)), kAlmostDoneS);
  const bool elastic = facts.gpus_max > facts.gpus;
  const int most = std::min(elastic ? facts.gpus_max : facts.gpus, kVmGpusMax);
  for (std::int32_t device = 0; device < view.types(); ++device) {
    const double speed = view.is_typed() ? view.speed_on(index, device) : 1;
    if (!(speed > 0)) continue;
    std::vector<double>& times = job.times_s[fmt::format("{}", device)];
    for (int gpus = 1; gpus <= most; ++gpus) {
      const bool may = elastic || gpus == facts.gpus;
      const double factor =
          may && gpus != facts.gpus ? scaling_.step_s(index, gpus) / scaling_.step_s(index, facts.gpus) : 1;
      times.push_back(may ? std::min(asked_s * factor / speed, kTimeMaxS) : std::numeric_limits<double>::infinity());
    }
  }
  if (view.progress(index).starts > 0) job.switch_s = options_.switch_s;
  return job;
}

std::vector<JobIndex> SchedulerAdapter::looked_at(const ClusterView& view) const {
  std::vector<JobIndex> jobs;
  std::vector<std::pair<double, JobIndex>> waiting;
  for (const JobIndex job : there()) {
    if (is_gang(view, job) || view.progress(job).is_withheld) continue;
    if (view.is_running(job)) {
      jobs.push_back(job);
      continue;
    }
    waiting.emplace_back(-merit(view, job), job);
  }
  if (only_gangs_) waiting.clear();
  std::sort(waiting.begin(), waiting.end());
  waiting.resize(std::min(waiting.size(), options_.jobs_max));
  for (const auto& [key, job] : waiting) jobs.push_back(job);
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

Situation SchedulerAdapter::look(const ClusterView& view, const Instance& how) const {
  Situation situation{how, {}, {}, {}, {}};
  situation.instance.now_s = schedule::to_seconds(view.now());
  situation.instance.jobs.clear();
  add_machines(view, situation);
  if (situation.instance.nodes == 0) return situation;
  for (const JobIndex job : looked_at(view)) {
    Job planned = job_of(view, job);
    const bool somewhere =
        std::any_of(situation.instance.vm_types.begin(), situation.instance.vm_types.end(), [&](const VmType& type) {
          for (int gpus = 1; gpus <= type.gpus; ++gpus)
            if (time_s(planned, type, gpus)) return true;
          return false;
        });
    if (!somewhere && !view.is_running(job)) continue;  // waits for a machine to come back
    if (view.is_protected(job)) planned.pinned_on = fmt::format("{}", view.progress(job).allocation.front().machine);
    situation.jobs.push_back(job);
    situation.instance.jobs.push_back(std::move(planned));
    if (view.is_running(job)) add_running(situation, view.progress(job).allocation.front());
  }
  return situation;
}

}  // namespace orrery::plan
