#include "schedule/policies/optimus_ps.h"

#include <algorithm>
#include <limits>

namespace orrery::schedule {

OptimusAllocator::OptimusAllocator(std::vector<PsJob> jobs, const PsDemand& capacity)
    : jobs_(std::move(jobs)), capacity_(capacity) {}

double OptimusAllocator::dominant_share(const PsDemand& demand) const {
  double share = 0;
  for (std::size_t r = 0; r < kPsResources; ++r) {
    if (capacity_[r] > 0) share = std::max(share, demand[r] / capacity_[r]);
  }
  return share;
}

bool OptimusAllocator::fits(const PsDemand& demand) const {
  for (std::size_t r = 0; r < kPsResources; ++r) {
    if (used_[r] + demand[r] > capacity_[r] * (1 + 1e-12)) return false;
  }
  return true;
}

void OptimusAllocator::use(const PsDemand& demand, double sign) {
  for (std::size_t r = 0; r < kPsResources; ++r) used_[r] += sign * demand[r];
}

const PsDemand& OptimusAllocator::demand_of(std::size_t job, const Grant& what) const {
  return what.server ? jobs_[job].server : jobs_[job].worker;
}

OptimusAllocator::Grant OptimusAllocator::next_grant(std::size_t j) const {
  const PsJob& job = jobs_[j];
  const PsTasks& tasks = tasks_[j];
  const bool full_of_servers = tasks.servers >= job.tasks_max, full_of_workers = tasks.workers >= job.tasks_max;
  if (full_of_servers && full_of_workers) return {};
  const double now = job.speed.step_s(tasks.servers, tasks.workers);
  const double with_server = job.speed.step_s(tasks.servers + 1, tasks.workers);
  const double with_worker = job.speed.step_s(tasks.servers, tasks.workers + 1);
  const double of_server = job.steps_left * (now - with_server) / dominant_share(job.server) * job.factor;
  const double of_worker = job.steps_left * (now - with_worker) / dominant_share(job.worker) * job.factor;
  const bool server = !full_of_servers && (of_server >= of_worker || full_of_workers);
  const double gain = server ? of_server : of_worker;
  const double before = chains_[j].empty() ? std::numeric_limits<double>::infinity() : chains_[j].back().key;
  return {std::min(gain, before), server};
}

void OptimusAllocator::offer(std::size_t job) {
  offered_[job] = next_grant(job);
  if (offered_[job].key > 0) next_.insert({offered_[job].key, job});
}

void OptimusAllocator::withdraw(std::size_t job) {
  if (offered_[job].key > 0) next_.erase({offered_[job].key, job});
  offered_[job] = {};
}

void OptimusAllocator::grant(std::size_t job) {
  const Grant granted = offered_[job];
  withdraw(job);
  if (!chains_[job].empty()) last_.erase({chains_[job].back().key, job});
  chains_[job].push_back(granted);
  last_.insert({granted.key, job});
  use(demand_of(job, granted), +1);
  ++(granted.server ? tasks_[job].servers : tasks_[job].workers);
  offer(job);
}

void OptimusAllocator::take_back(std::size_t job) {
  const Grant granted = chains_[job].back();
  withdraw(job);
  last_.erase({granted.key, job});
  chains_[job].pop_back();
  if (!chains_[job].empty()) last_.insert({chains_[job].back().key, job});
  use(demand_of(job, granted), -1);
  --(granted.server ? tasks_[job].servers : tasks_[job].workers);
  offer(job);
}

void OptimusAllocator::grant_while_fits(std::vector<std::size_t>* changed) {
  while (!next_.empty()) {
    const std::size_t job = next_.begin()->job;
    if (!fits(demand_of(job, offered_[job]))) return;
    grant(job);
    if (changed != nullptr) changed->push_back(job);
  }
}

void OptimusAllocator::allocate() {
  used_ = {};
  tasks_.assign(jobs_.size(), {});
  chains_.assign(jobs_.size(), {});
  offered_.assign(jobs_.size(), {});
  next_.clear();
  last_.clear();
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (!(jobs_[j].steps_left > 0)) continue;
    PsDemand both = jobs_[j].server;
    for (std::size_t r = 0; r < kPsResources; ++r) both[r] += jobs_[j].worker[r];
    if (!fits(both)) continue;
    use(both, +1);
    tasks_[j] = {1, 1};
    offer(j);
  }
  grant_while_fits(nullptr);
}

void OptimusAllocator::change(std::size_t index, const PsJob& job, std::vector<std::size_t>& changed) {
  const std::vector<PsTasks> before = tasks_;
  const auto waits = [&](std::size_t j) { return jobs_[j].steps_left > 0 && tasks_[j].servers == 0; };
  bool somebody_waits = false;
  for (std::size_t j = 0; j < jobs_.size(); ++j) somebody_waits = somebody_waits || waits(j);
  // The job gives back everything it has.
  while (!chains_[index].empty()) take_back(index);
  withdraw(index);
  if (tasks_[index].servers > 0) {
    use(jobs_[index].server, -1);
    use(jobs_[index].worker, -1);
    tasks_[index] = {};
  }
  jobs_[index] = job;
  PsDemand both = job.server;
  for (std::size_t r = 0; r < kPsResources; ++r) both[r] += job.worker[r];
  const bool comes = job.steps_left > 0;
  // Its first pair goes before the gains of other jobs.
  while (comes && !somebody_waits && !fits(both) && !last_.empty()) take_back(std::prev(last_.end())->job);
  if (somebody_waits || (comes && !fits(both))) {
    // Which jobs get a first pair of tasks depends on all jobs: it is computed from scratch.
    allocate();
  } else {
    if (comes) {
      use(both, +1);
      tasks_[index] = {1, 1};
      offer(index);
    }
    // Grants that come before the last one of others are due, even if they take its capacity.
    while (!next_.empty() && !last_.empty() && *next_.begin() < *std::prev(last_.end())) {
      const std::size_t next = next_.begin()->job;
      const PsDemand& wanted = demand_of(next, offered_[next]);
      if (fits(wanted)) {
        grant(next);
      } else {
        take_back(std::prev(last_.end())->job);
      }
    }
    grant_while_fits(nullptr);
  }
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (!(tasks_[j] == before[j])) changed.push_back(j);
  }
}

}  // namespace orrery::schedule
