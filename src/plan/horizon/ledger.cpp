#include "plan/horizon/ledger.h"

#include <algorithm>
#include <array>

namespace orrery::plan::horizon {

std::vector<std::vector<int>> packed(const std::vector<int>& parts, int gpus) {
  std::vector<std::vector<int>> machines;
  std::vector<int> free;
  for (std::size_t size = parts.size(); size-- > 0;) {
    const int part = static_cast<int>(size) + 1;
    for (int i = 0; i < parts[size]; ++i) {
      std::size_t best = free.size();
      for (std::size_t m = 0; m < free.size(); ++m)
        if (free[m] >= part && (best == free.size() || free[m] < free[best])) best = m;
      if (best == free.size()) {
        machines.emplace_back();
        free.push_back(gpus);
      }
      free[best] -= part;
      machines[best].push_back(part);
    }
  }
  return machines;
}

namespace {

// How many machines packed() makes.
int machines_for(const std::vector<int>& parts, int gpus) {
  std::array<int, kVmGpusMax + 1> with_free{};  // machines by their free GPUs
  int machines = 0;
  for (int part = gpus; part >= 1; --part) {
    for (int i = 0; i < parts[static_cast<std::size_t>(part) - 1]; ++i) {
      int room = part;
      while (room <= gpus && with_free[static_cast<std::size_t>(room)] == 0) ++room;
      if (room > gpus) {
        ++machines;
        room = gpus;
      } else {
        --with_free[static_cast<std::size_t>(room)];
      }
      ++with_free[static_cast<std::size_t>(room - part)];
    }
  }
  return machines;
}

}  // namespace

Ledger::Ledger(const Problem& problem, const Configurations& configurations)
    : problem_(&problem), configurations_(&configurations), quotas_of_(problem.vm_types.size()) {
  for (std::size_t q = 0; q < problem.quotas.size(); ++q)
    for (const std::size_t vm : problem.quotas[q].vms) quotas_of_[vm].push_back(q);
  const auto periods = static_cast<std::size_t>(problem.periods);
  for (const VmType& type : problem.vm_types) {
    const auto gpus = static_cast<std::size_t>(type.gpus);
    parts_.insert(parts_.end(), periods, std::vector<int>(gpus, 0));
    needed_.insert(needed_.end(), periods, std::vector<int>(gpus, 1));
  }
  machines_.assign(parts_.size(), 0);
  open_.assign(periods, 0);
}

void Ledger::look_again(std::size_t vm, int period) {
  const std::size_t at = problem_->at(vm, period);
  const int gpus = problem_->vm_types[vm].gpus;
  const int now = machines_for(parts_[at], gpus);
  open_[static_cast<std::size_t>(period)] += now - machines_[at];
  machines_usd_ += (now - machines_[at]) * problem_->tariff.machine[at];
  machines_[at] = now;
  for (std::size_t size = 0; size < parts_[at].size(); ++size) {
    ++parts_[at][size];
    needed_[at][size] = machines_for(parts_[at], gpus) - now;
    --parts_[at][size];
  }
}

void Ledger::change(std::size_t task, const Start& start, int sign) {
  const Mode& mode = problem_->tasks[task].modes[start.mode];
  for (int t = start.period; t < start.period + configurations_->length(task, start.mode); ++t) {
    parts_[problem_->at(mode.vm, t)][static_cast<std::size_t>(mode.gpus) - 1] += sign * mode.machines;
    look_again(mode.vm, t);
  }
}

bool Ledger::may_open(std::size_t vm, int period, int more) const {
  if (open_[static_cast<std::size_t>(period)] + more > problem_->nodes) return false;
  if (machines(vm, period) + more > problem_->vm_types[vm].nodes_max) return false;
  return std::all_of(quotas_of_[vm].begin(), quotas_of_[vm].end(), [&](std::size_t q) {
    const Quota& quota = problem_->quotas[q];
    int gpus = more * problem_->vm_types[vm].gpus;
    for (const std::size_t other : quota.vms) gpus += machines(other, period) * problem_->vm_types[other].gpus;
    return gpus <= quota.gpus_max;
  });
}

double Ledger::added_usd(int period, const Mode& mode) const {
  const std::size_t at = problem_->at(mode.vm, period);
  // Modes on several machines take whole ones, each of which needs a new one.
  const int more = needed_[at][static_cast<std::size_t>(mode.gpus) - 1] * mode.machines;
  if (more > 0 && !may_open(mode.vm, period, more)) return kNever;
  return more * problem_->tariff.machine[at];
}

Ledger::Offer Ledger::cheapest(std::size_t task) const {
  const Task& one = problem_->tasks[task];
  const int first = one.runs ? 0 : first_period(*problem_, one);
  Offer best;
  std::vector<double> added(static_cast<std::size_t>(problem_->periods));
  for (std::size_t m = 0; m < one.modes.size(); ++m) {
    const int stays = configurations_->length(task, m);
    const int last = one.runs ? 0 : problem_->periods - stays;
    if (stays > problem_->periods) continue;
    for (int t = first; t < last + stays; ++t) added[static_cast<std::size_t>(t)] = added_usd(t, one.modes[m]);
    for (int start = first; start <= last; ++start) {
      double usd = configurations_->usd(task, m, start);
      for (int t = start; t < start + stays && usd < best.usd; ++t) usd += added[static_cast<std::size_t>(t)];
      if (usd < best.usd) best = {{m, start}, usd};
    }
  }
  return best;
}

}  // namespace orrery::plan::horizon
