#include "lab/reference/gavel/gavel_policies.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <memory>

#include "base/text.h"
#include "schedule/policies/allox.h"
#include "schedule/policies/gavel_shares.h"

namespace orrery::lab {

using schedule::JobIndex;
using schedule::kNoJob;
using schedule::RoundUnit;
using schedule::ShareProblem;
using schedule::Shares;

namespace {

ShareProblem problem_of(const GavelState& state, bool packs) {
  ShareProblem problem;
  problem.central = true;
  problem.gpus.assign(state.gpus.begin(), state.gpus.end());
  for (const GavelActive& job : state.jobs) {
    problem.jobs.push_back(
        {.speed = job.speed, .gpus = job.gpus, .weight = job.weight, .age_s = job.age_s, .left = job.left});
    if (job.deadline_in_s >= 0) problem.jobs.back().deadline_in_s = job.deadline_in_s;
  }
  for (std::size_t a = 0; packs && a < state.jobs.size(); ++a) {
    for (std::size_t b = a + 1; b < state.jobs.size(); ++b) {
      if (state.jobs[a].gpus != state.jobs[b].gpus) continue;
      problem.pairs.push_back({static_cast<int>(a), static_cast<int>(b),
                               state.packed(state.jobs[a].job, state.jobs[b].job),
                               state.packed(state.jobs[b].job, state.jobs[a].job)});
    }
  }
  return problem;
}

std::vector<UnitShare> units_of(const GavelState& state, const ShareProblem& problem, const Shares& shares) {
  std::vector<UnitShare> result;
  for (std::size_t j = 0; j < state.jobs.size(); ++j) result.push_back({{state.jobs[j].job, kNoJob}, shares[j]});
  for (std::size_t p = 0; p < problem.pairs.size(); ++p) {
    const RoundUnit unit = {state.jobs[static_cast<std::size_t>(problem.pairs[p].first)].job,
                            state.jobs[static_cast<std::size_t>(problem.pairs[p].second)].job};
    result.push_back({unit, shares[state.jobs.size() + p]});
  }
  return result;
}

using Solver = Shares (*)(const ShareProblem&);

GavelPolicy lp_policy(Solver solver, bool packs) {
  GavelPolicy policy;
  policy.packs = packs;
  policy.shares = [solver, packs](const GavelState& state) {
    const ShareProblem problem = problem_of(state, packs);
    return units_of(state, problem, solver(problem));
  };
  return policy;
}

// Remembers what the work of each job so far would have taken with equal shares.
class FinishTimes {
 public:
  std::vector<UnitShare> operator()(const GavelState& state) {
    ShareProblem problem = problem_of(state, false);
    const std::vector<double> equal = schedule::speeds_with(problem, schedule::isolated_shares(problem));
    std::map<JobIndex, Past> now;
    for (std::size_t j = 0; j < state.jobs.size(); ++j) {
      Past past{0, state.jobs[j].left, equal[j]};
      if (const auto found = past_.find(state.jobs[j].job); found != past_.end()) {
        past.isolated_s = found->second.isolated_s + (found->second.left - past.left) / found->second.speed;
      }
      problem.jobs[j].isolated_s = past.isolated_s;
      now[state.jobs[j].job] = past;
    }
    past_ = std::move(now);
    return units_of(state, problem, schedule::finish_time_shares(problem));
  }

 private:
  struct Past {
    double isolated_s = 0, left = 0, speed = 0;
  };
  std::map<JobIndex, Past> past_;
};

// One type for each job that has one; nobody shares.
std::vector<UnitShare> whole_shares(const GavelState& state, const std::map<JobIndex, std::size_t>& types) {
  std::vector<UnitShare> result;
  for (const GavelActive& job : state.jobs) {
    UnitShare& share = result.emplace_back(UnitShare{{job.job, kNoJob}, std::vector<double>(state.gpus.size(), 0)});
    if (const auto found = types.find(job.job); found != types.end()) share.by_type[found->second] = 1;
  }
  return result;
}

// The published simulator knows types by name: k80, p100, v100. Ours have the opposite order.
template <typename Body>
void for_types_by_name(std::size_t count, const Body& body) {
  for (std::size_t k = count; k-- > 0;) body(k);
}

std::vector<UnitShare> fifo_perf_shares(const GavelState& state) {
  std::vector<int> free = state.gpus;
  std::map<JobIndex, std::size_t> types;
  for (const GavelActive& job : state.jobs) {
    double best = -1;
    std::size_t type = 0;
    for_types_by_name(free.size(), [&](std::size_t k) {
      if (free[k] < job.gpus || free[k] == 0 || job.speed[k] <= best) return;
      best = job.speed[k];
      type = k;
    });
    if (best < 0) break;
    if (best == 0) continue;
    types[job.job] = type;
    free[type] -= job.gpus;
  }
  return whole_shares(state, types);
}

class Fifo {
 public:
  explicit Fifo(std::uint64_t seed) : random_(Random(seed).split("fifo")) {}

  std::vector<UnitShare> operator()(const GavelState& state) {
    std::map<JobIndex, const GavelActive*> active;
    for (const GavelActive& job : state.jobs) active[job.job] = &job;
    std::vector<int> free = state.gpus;
    std::vector<const GavelActive*> queue;
    for (const GavelActive& job : state.jobs) {
      if (!types_.contains(job.job)) queue.push_back(&job);
    }
    const std::map<JobIndex, std::size_t> before = types_;
    for (const auto& [job, type] : before) {
      if (const auto found = active.find(job); found != active.end()) {
        free[type] -= found->second->gpus;
        continue;
      }
      types_.erase(job);
      if (queue.empty() || queue.front()->gpus > free[type] || queue.front()->speed[type] <= 0) continue;
      types_[queue.front()->job] = type;
      free[type] -= queue.front()->gpus;
      queue.erase(queue.begin());
    }
    for (const GavelActive* job : queue) {
      std::vector<std::size_t> room;
      for_types_by_name(free.size(), [&](std::size_t k) {
        if (free[k] >= job->gpus) room.push_back(k);
      });
      if (room.empty()) break;
      const std::size_t type = room[random_.below(room.size())];
      if (job->speed[type] <= 0) continue;
      types_[job->job] = type;
      free[type] -= job->gpus;
    }
    return whole_shares(state, types_);
  }

 private:
  Random random_;
  std::map<JobIndex, std::size_t> types_;
};

class Allox {
 public:
  explicit Allox(double alpha) : alpha_(alpha) {}

  std::vector<UnitShare> operator()(const GavelState& state) {
    std::map<JobIndex, std::size_t> types;
    std::vector<int> free = state.gpus;
    std::vector<const GavelActive*> waiting;
    for (const GavelActive& job : state.jobs) {
      const auto found = types_.find(job.job);
      if (found != types_.end()) types[job.job] = found->second;
      if (found == types_.end() || job.gpus > 1) {
        waiting.push_back(&job);
      } else {
        --free[found->second];
      }
    }
    types_ = std::move(types);
    plan(free, waiting);
    std::vector<UnitShare> shares = whole_shares(state, types_);
    for (std::size_t j = 0; j < shares.size(); ++j) {
      for (double& share : shares[j].by_type) share /= state.jobs[j].gpus;
    }
    return shares;
  }

 private:
  void plan(const std::vector<int>& free, std::vector<const GavelActive*>& waiting) {
    schedule::BatchProblem problem;
    std::vector<std::size_t> there;
    std::size_t machines = 0;
    for (std::size_t k = 0; k < free.size(); ++k) {
      if (free[k] <= 0) continue;
      there.push_back(k);
      problem.machines.push_back(free[k]);
      machines += static_cast<std::size_t>(free[k]);
    }
    const auto oldest = static_cast<std::size_t>(alpha_ * static_cast<double>(waiting.size()));
    waiting.resize(std::min(waiting.size(), std::max(oldest, machines)));
    if (there.empty() || waiting.empty()) return;
    for (const GavelActive* job : waiting) {
      schedule::BatchJob& batch = problem.jobs.emplace_back();
      for (const std::size_t k : there) batch.runtime_s.push_back(job->left / std::max(job->speed[k], 1e-10));
    }
    const auto queues = schedule::solve_allox(problem);
    if (!queues) return;
    for (const schedule::BatchQueue& queue : *queues) {
      if (queue.jobs.empty()) continue;
      types_[waiting[static_cast<std::size_t>(queue.jobs.front())]->job] = there[static_cast<std::size_t>(queue.type)];
    }
  }

  double alpha_;
  std::map<JobIndex, std::size_t> types_;  // of jobs that have a share
};

class Gandiva {
 public:
  explicit Gandiva(std::uint64_t seed) : random_(Random(seed).split("gandiva")) {}

  std::vector<UnitShare> operator()(const GavelState& state) {
    std::map<JobIndex, const GavelActive*> active;
    int wanted = 0, gpus = 0;
    for (const GavelActive& job : state.jobs) {
      active[job.job] = &job;
      wanted += job.gpus;
    }
    for (const int there : state.gpus) gpus += there;
    std::erase_if(units_, [&](const RoundUnit& unit) {
      // Single jobs are drawn anew as well.
      return unit.second == kNoJob || !active.contains(unit.first) || !active.contains(unit.second) ||
             !is_worth_it(state, *active[unit.first], *active[unit.second]);
    });
    std::vector<RoundUnit> units;
    if (wanted <= gpus) {
      for (const GavelActive& job : state.jobs) units.push_back({job.job, kNoJob});
    } else {
      draw(state);
      units = units_;
    }
    std::vector<UnitShare> result;
    for (const GavelActive& job : state.jobs)
      result.push_back({{job.job, kNoJob}, std::vector<double>(state.gpus.size(), 0)});
    for (const RoundUnit& unit : units) {
      std::vector<double> share;
      double sum = 0;
      for (const int there : state.gpus) {
        share.push_back(static_cast<double>(there) / static_cast<double>(units.size()) / active[unit.first]->gpus);
        sum += share.back();
      }
      for (double& part : share) part /= std::max(1.0, sum);
      const auto same = std::find_if(result.begin(), result.end(), [&](const UnitShare& u) { return u.unit == unit; });
      if (same != result.end())
        same->by_type = share;
      else
        result.push_back({unit, share});
    }
    add_unused_pairs(state, result);
    return result;
  }

 private:
  static bool is_worth_it(const GavelState& state, const GavelActive& a, const GavelActive& b) {
    const std::vector<double> first = state.packed(a.job, b.job), second = state.packed(b.job, a.job);
    double sum = 0;
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (state.gpus[k] == 0) continue;
      if (first[k] <= 0 || second[k] <= 0) return false;
      sum += first[k] / a.speed[k] + second[k] / b.speed[k];
    }
    return sum >= 1;
  }

  void draw(const GavelState& state) {
    std::vector<const GavelActive*> single;
    for (const GavelActive& job : state.jobs) {
      const bool paired = std::any_of(units_.begin(), units_.end(), [&](const RoundUnit& unit) {
        return unit.first == job.job || unit.second == job.job;
      });
      if (!paired) single.push_back(&job);
    }
    const std::size_t tries = single.size();
    for (std::size_t i = 0; i < tries && single.size() > 1; ++i) {
      const std::size_t a = random_.below(single.size());
      std::size_t b = random_.below(single.size() - 1);
      if (b >= a) ++b;
      if (single[a]->gpus != single[b]->gpus) continue;
      units_.push_back({std::min(single[a]->job, single[b]->job), std::max(single[a]->job, single[b]->job)});
      single.erase(single.begin() + static_cast<std::ptrdiff_t>(std::max(a, b)));
      single.erase(single.begin() + static_cast<std::ptrdiff_t>(std::min(a, b)));
    }
    for (const GavelActive* job : single) units_.push_back({job->job, kNoJob});
  }

  // Pairs that were not drawn have a share of 0: they may use GPUs that nobody else does.
  static void add_unused_pairs(const GavelState& state, std::vector<UnitShare>& result) {
    std::map<RoundUnit, bool> known;
    for (const UnitShare& share : result) known[share.unit] = true;
    for (std::size_t a = 0; a < state.jobs.size(); ++a) {
      for (std::size_t b = a + 1; b < state.jobs.size(); ++b) {
        const RoundUnit unit = {state.jobs[a].job, state.jobs[b].job};
        if (state.jobs[a].gpus != state.jobs[b].gpus || known.contains(unit)) continue;
        result.push_back({unit, std::vector<double>(state.gpus.size(), 0)});
      }
    }
  }

  Random random_;
  std::vector<RoundUnit> units_;
};

// std::function wants copies; the memory of a policy is one.
template <typename State>
std::function<std::vector<UnitShare>(const GavelState&)> remembering(State state) {
  return [kept = std::make_shared<State>(std::move(state))](const GavelState& now) { return (*kept)(now); };
}

}  // namespace

Result<GavelPolicy> make_gavel_policy(std::string_view name, std::uint64_t seed) {
  if (name == "max_min_fairness_perf") return lp_policy(schedule::max_min_shares, false);
  if (name == "max_min_fairness_packed") return lp_policy(schedule::max_min_shares, true);
  if (name == "min_total_duration_perf") return lp_policy(schedule::makespan_shares, false);
  if (name == "max_sum_throughput_perf") return lp_policy(schedule::throughput_shares, false);
  GavelPolicy policy;
  if (name == "finish_time_fairness_perf") {
    policy.shares = remembering(FinishTimes());
  } else if (name == "isolated") {
    policy = lp_policy(schedule::isolated_shares, false);
    policy.keeps_order = false;
  } else if (name == "fifo_perf") {
    policy.uses_idle = false;
    policy.shares = fifo_perf_shares;
  } else if (name == "fifo") {
    policy.uses_idle = false;
    policy.keeps_order = false;
    policy.shares = remembering(Fifo(seed));
  } else if (name == "allox" || name == "allox_alpha=0.2") {
    policy.shares = remembering(Allox(name == "allox" ? 1 : 0.2));
  } else if (name == "gandiva") {
    policy.packs = true;
    policy.shares = remembering(Gandiva(seed));
  } else {
    return Error::not_found(fmt::format("no policy {} of Gavel's simulator", quote(name)));
  }
  return policy;
}

}  // namespace orrery::lab
