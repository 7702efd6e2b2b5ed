#include "schedule/placement/optimus_placement.h"

#include <algorithm>

namespace orrery::schedule {

OptimusPlacement::OptimusPlacement(IndexedVector<MachineIndex, PsDemand> servers)
    : capacity_(std::move(servers)), used_(capacity_.size(), PsDemand{}) {
  for (const MachineIndex server : capacity_.indices()) order_.insert({0, server});
}

bool OptimusPlacement::fits(MachineIndex server, const PsJob& job, const PsTasks& tasks) const {
  for (std::size_t r = 0; r < kPsResources; ++r) {
    const double wanted = tasks.servers * job.server[r] + tasks.workers * job.worker[r];
    if (used_[server][r] + wanted > capacity_[server][r] * (1 + 1e-12)) return false;
  }
  return true;
}

void OptimusPlacement::put(std::size_t index, MachineIndex server, const PsTasks& tasks, double sign) {
  order_.erase({used_[server][0], server});
  for (std::size_t r = 0; r < kPsResources; ++r) {
    used_[server][r] += sign * (tasks.servers * held_[index].server[r] + tasks.workers * held_[index].worker[r]);
  }
  order_.insert({used_[server][0], server});
  if (sign > 0) places_[index].push_back({server, tasks});
}

bool OptimusPlacement::place_evenly(std::size_t index, const PsJob& job, const PsTasks& tasks) {
  const int all = tasks.servers + tasks.workers;
  first_.clear();
  auto next = order_.begin();
  // The share of the i-th of k servers when n tasks are placed round-robin.
  const auto share = [](int n, int k, int i) { return n / k + (i < n % k ? 1 : 0); };
  for (int k = 1; k <= all && next != order_.end(); ++k, ++next) {
    first_.push_back(next->server);
    bool ok = true;
    for (int i = 0; i < k && ok; ++i) {
      ok = fits(first_[static_cast<std::size_t>(i)], job, {share(tasks.servers, k, i), share(tasks.workers, k, i)});
    }
    if (!ok) continue;
    for (int i = 0; i < k; ++i) {
      const PsTasks part{share(tasks.servers, k, i), share(tasks.workers, k, i)};
      if (part.servers + part.workers > 0) put(index, first_[static_cast<std::size_t>(i)], part, +1);
    }
    return true;
  }
  return false;
}

void OptimusPlacement::place_anywhere(std::size_t index, const PsJob& job, const PsTasks& tasks) {
  PsTasks left = tasks;
  std::vector<MachineIndex> servers;
  for (const Spot& spot : order_) servers.push_back(spot.server);
  PsTasks placed;
  for (const MachineIndex server : servers) {
    PsTasks here;
    bool found = true;
    while (found && left.servers + left.workers > 0) {
      found = false;
      if (left.servers > 0 && fits(server, job, {here.servers + 1, here.workers})) {
        ++here.servers;
        --left.servers;
        found = true;
      }
      if (left.workers > 0 && fits(server, job, {here.servers, here.workers + 1})) {
        ++here.workers;
        --left.workers;
        found = true;
      }
    }
    if (here.servers + here.workers > 0) put(index, server, here, +1);
    placed.servers += here.servers;
    placed.workers += here.workers;
    if (left.servers + left.workers == 0) break;
  }
  if (placed.servers == 0 || placed.workers == 0) give_back(index);
}

void OptimusPlacement::give_back(std::size_t index) {
  for (const PsPlace& place : places_[index]) put(index, place.server, place.tasks, -1);
  places_[index].clear();
}

void OptimusPlacement::place(std::size_t index, const PsJob& job, const PsTasks& tasks) {
  if (tasks.servers + tasks.workers == 0) return;
  held_[index] = {job.server, job.worker};
  if (!place_evenly(index, job, tasks)) place_anywhere(index, job, tasks);
}

void OptimusPlacement::place_all(const std::vector<PsJob>& jobs, const std::vector<PsTasks>& tasks) {
  places_.assign(jobs.size(), {});
  held_.assign(jobs.size(), {});
  used_.assign(capacity_.size(), PsDemand{});
  order_.clear();
  for (const MachineIndex server : capacity_.indices()) order_.insert({0, server});
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tasks[a].servers + tasks[a].workers < tasks[b].servers + tasks[b].workers;
  });
  for (const std::size_t j : order) place(j, jobs[j], tasks[j]);
}

void OptimusPlacement::place_again(const std::vector<PsJob>& jobs, const std::vector<PsTasks>& tasks,
                                   const std::vector<std::size_t>& changed) {
  for (const std::size_t j : changed) give_back(j);
  for (const std::size_t j : changed) place(j, jobs[j], tasks[j]);
}

bool OptimusPlacement::is_sound() const {
  for (const MachineIndex server : capacity_.indices()) {
    for (std::size_t r = 0; r < kPsResources; ++r) {
      if (used_[server][r] > capacity_[server][r] * (1 + 1e-9) || used_[server][r] < -1e-6) return false;
    }
  }
  return true;
}

}  // namespace orrery::schedule
