#pragma once
// Small synthetic problems for tests, by seed.

#include "base/random.h"
#include "plan/horizon/problem.h"

namespace orrery::plan::horizon {

struct Synthetic {
  int periods = 4;
  int nodes = 2;
  int tasks = 3;
  int gpus_max = 3;
  bool limits = false;  // a quota, a budget, due dates that must be kept, a task that runs, one on two machines
};

inline Tariff synthetic_tariff(const Problem& problem, Random& random) {
  Tariff tariff;
  for (std::size_t vm = 0; vm < problem.vm_types.size(); ++vm)
    for (int t = 0; t < problem.periods; ++t) {
      tariff.machine.push_back(problem.vm_types[vm].price_usd_h * random.uniform(0.5, 1.5));
      tariff.busy_gpu_s.push_back(random.uniform(0, 0.5) / 3600);
    }
  return tariff;
}

inline Task synthetic_task(const Problem& problem, int index, Random& random) {
  Task task;
  task.id = "T" + std::to_string(index);
  task.submit_s = random.below(3) == 0 ? random.uniform(0, 3600) : 0;
  task.due_s = random.uniform(1800, 4 * 3600);
  task.weight_usd_s = random.uniform(0, 5) / 3600;
  const double work = random.uniform(600, 6000);
  for (std::size_t vm = 0; vm < problem.vm_types.size(); ++vm)
    for (int gpus = 1; gpus <= problem.vm_types[vm].gpus; ++gpus) {
      const double time = (300 + work / gpus) * random.uniform(0.9, 1.1);
      task.modes.push_back({vm, gpus, 1, time, {time, 0.8 * time, 1.3 * time}});
    }
  return task;
}

inline void add_limits(Problem& problem, Random& random) {
  problem.quotas = {{"q", {0, 1}, problem.vm_types[0].gpus + static_cast<int>(random.below(3))}};
  problem.vm_types[1].nodes_max = 1;
  problem.budgets = {{"budget_usd", synthetic_tariff(problem, random), random.uniform(4, 12)}};
  Task& first = problem.tasks[0];
  first.runs = true;
  first.submit_s = 0;
  first.modes.resize(1);
  Task& second = problem.tasks[1];
  const VmType& type = problem.vm_types[0];
  second.modes.push_back({0, type.gpus, 2, 900, {900, 800, 1000}});
  problem.tasks[2].must = random.below(2) == 0;
}

inline Problem synthetic(std::uint64_t seed, const Synthetic& size = {}) {
  Random random(seed);
  Problem problem;
  problem.periods = size.periods;
  problem.nodes = size.nodes;
  for (int i = 0; i < 2; ++i)
    problem.vm_types.push_back({"vm" + std::to_string(i), i == 0 ? "A" : "B",
                                1 + static_cast<int>(random.below(static_cast<std::uint64_t>(size.gpus_max))),
                                random.uniform(0.5, 4)});
  problem.tariff = synthetic_tariff(problem, random);
  for (int i = 0; i < size.tasks; ++i) problem.tasks.push_back(synthetic_task(problem, i, random));
  if (size.limits) add_limits(problem, random);
  put_in_order(problem.tasks);
  return problem;
}

}  // namespace orrery::plan::horizon
