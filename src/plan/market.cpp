#include "plan/market.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace orrery::plan {

using schedule::Action;
using schedule::ClusterView;
using schedule::Decision;
using schedule::JobIndex;
using schedule::MachineIndex;

namespace {

constexpr double kAlmostDoneS = 1e-6;  // least remaining time of a job that has not ended

Job what_is_left(const Job& job, double share) {
  Job left = job;
  for (auto& [gpu, times] : left.times_s)
    for (double& time : times) time = std::max(time * share, kAlmostDoneS);
  return left;
}

}  // namespace

schedule::Machines machines_of(const Market& market) {
  schedule::Machines machines;
  for (std::size_t vm = 0; vm < market.vm_types.size(); ++vm) {
    const VmType& type = market.vm_types[vm];
    schedule::MachineView machine{.gpus = type.gpus, .free = type.gpus, .device = static_cast<std::int32_t>(vm)};
    machines.insert(machines.end(), static_cast<std::size_t>(std::min(market.nodes, type.nodes_max)), machine);
  }
  return machines;
}

double shortest_s(const Market& market, const Job& job) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const VmType& type : market.vm_types) {
    for (int gpus = 1; gpus <= type.gpus; ++gpus)
      if (const auto time = time_s(job, type, gpus)) shortest = std::min(shortest, *time);
  }
  return shortest < std::numeric_limits<double>::infinity() ? shortest : 0;
}

void ClusterAdapter::hear(const schedule::Event& event) {
  there_.insert(there_.end(), event.arrived.begin(), event.arrived.end());
  const auto gone = [&](JobIndex job) {
    const auto in = [job](auto list) { return std::find(list.begin(), list.end(), job) != list.end(); };
    return in(event.ended) || in(event.withdrawn);
  };
  std::erase_if(there_, gone);
  std::sort(there_.begin(), there_.end());
}

void ClusterAdapter::exchange(schedule::StateArchive& state) {
  state(there_);
  state.expect_active(there_);
}

void add_running(Situation& situation, const schedule::Slice& held) {
  const auto found = std::find(situation.where.begin(), situation.where.end(), held.machine);
  const auto node = static_cast<std::size_t>(found - situation.where.begin());
  const std::size_t vm = situation.vm_of[held.machine];
  if (found == situation.where.end()) {
    situation.current.nodes.push_back({vm});
    situation.where.push_back(held.machine);
  }
  const std::size_t job = situation.instance.jobs.size() - 1;
  situation.current.nodes[node].jobs.push_back({job, held.gpus});
  situation.instance.jobs[job].held = {vm, held.gpus};
}

Situation MarketAdapter::look(const ClusterView& view, const Instance& how) const {
  Situation situation{how, there(), {}, {}, {}};
  Instance& instance = situation.instance;
  instance.nodes = market_.nodes;
  instance.vm_types = market_.vm_types;
  instance.quotas = market_.quotas;
  instance.now_s = schedule::to_seconds(view.now());
  instance.jobs.clear();
  for (const schedule::MachineView& machine : view.machines())
    situation.vm_of.push_back(static_cast<std::size_t>(machine.device));
  for (const JobIndex job : there()) {
    const auto work = static_cast<double>(view.facts(job).work_ns);
    const double share = work > 0 ? static_cast<double>(view.left_ns(job)) / work : 0;
    instance.jobs.push_back(what_is_left(jobs_[job], share));
    if (view.progress(job).starts == 0) instance.jobs.back().switch_s = 0;
    if (view.is_running(job)) add_running(situation, view.progress(job).allocation.front());
  }
  return situation;
}

namespace {

// The machine of every node of the plan.
class Matching {
 public:
  Matching(const Situation& situation, const Plan& plan)
      : situation_(situation), plan_(plan), machine_of_(plan.nodes.size()), taken_(situation.vm_of.size(), false) {
    for (std::size_t n = 0; n < situation.current.nodes.size(); ++n)
      for (const RunningJob& one : situation.current.nodes[n].jobs) now_[one.job] = {situation.where[n], one.gpus};
  }

  std::vector<MachineIndex> run() {
    for (const auto& [common, node, machine] : by_common_jobs()) {
      if (machine_of_[node].valid() || taken_[machine]) continue;
      give(node, machine);
    }
    for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
      if (!machine_of_[node].valid()) give(node, free_machine(plan_.nodes[node].vm));
    }
    return machine_of_;
  }

 private:
  static constexpr int kPinned = 1000;  // worth more than all others of a machine

  using Common = std::tuple<int, std::size_t, MachineIndex>;  // −jobs that can stay, node, machine

  std::vector<Common> by_common_jobs() const {
    std::vector<Common> all;
    for (std::size_t node = 0; node < plan_.nodes.size(); ++node) {
      std::map<MachineIndex, int> common;
      for (const RunningJob& one : plan_.nodes[node].jobs) {
        const auto found = now_.find(one.job);
        if (found == now_.end()) continue;
        const MachineIndex machine = found->second.first;
        if (situation_.vm_of[machine] != plan_.nodes[node].vm) continue;
        common[machine] += situation_.instance.jobs[one.job].is_pinned() ? kPinned : 1;
      }
      for (const auto& [machine, jobs] : common) all.emplace_back(-jobs, node, machine);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  MachineIndex free_machine(std::size_t vm) const {
    for (const MachineIndex machine : taken_.indices())
      if (!taken_[machine] && situation_.vm_of[machine] == vm) return machine;
    return MachineIndex(0);
  }

  void give(std::size_t node, MachineIndex machine) {
    machine_of_[node] = machine;
    taken_[machine] = true;
  }

  const Situation& situation_;
  const Plan& plan_;
  std::map<std::size_t, std::pair<MachineIndex, int>> now_;  // by job: machine, GPUs
  std::vector<MachineIndex> machine_of_;                     // by node
  IndexedVector<MachineIndex, bool> taken_;
};

}  // namespace

void carry_out(const ClusterView& view, const Situation& situation, const Plan& plan,
               std::vector<Decision>& decisions) {
  const std::vector<MachineIndex> machine_of = Matching(situation, plan).run();
  std::vector<bool> planned(situation.jobs.size(), false);
  for (const Node& node : plan.nodes)
    for (const RunningJob& one : node.jobs) planned[one.job] = true;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (!planned[i] && view.is_running(situation.jobs[i]))
      decisions.push_back(
          {.action = Action::kSuspend, .job = situation.jobs[i], .reason = {schedule::Why::kOvertaken}});
  }
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    const double price = situation.instance.vm_types[plan.nodes[n].vm].price_usd_h;
    for (const RunningJob& one : plan.nodes[n].jobs) {
      const JobIndex job = situation.jobs[one.job];
      const schedule::Allocation wanted = {{.machine = machine_of[n], .gpus = one.gpus}};
      const bool runs = view.is_running(job);
      if (runs && view.progress(job).allocation == wanted) continue;
      const bool resizes = runs && schedule::gpus_in(view.progress(job).allocation) != one.gpus;
      decisions.push_back({.action = !runs     ? Action::kStart
                                     : resizes ? Action::kResize
                                               : Action::kMigrate,
                           .job = job,
                           .allocation = wanted,
                           .reason = {schedule::Why::kCheapestPlan, price}});
    }
  }
}

}  // namespace orrery::plan
