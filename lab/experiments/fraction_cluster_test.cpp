#include "lab/experiments/fraction_cluster.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

FractionTask task_of(int gpus, int milli, std::int64_t cpus = 1) {
  return {.cpus = cpus, .memory = 1, .gpus = gpus, .milli = milli};
}

// Two GPUs with 0.6 and 0.3 free. Half of the tasks want 0.5 of one: they could not use the 0.3. The others want a
// whole one and could use nothing: (0.3 + 0.9) / 2 = 0.6.
TEST(Fragmentation, ByHand) {
  const FractionMachine machine{10, 10, {600, 300}};
  const TaskMix mix = mix_of({task_of(1, 500), task_of(1, 1000)});
  EXPECT_DOUBLE_EQ(fragmentation(machine, mix), 600);
  // Without processors no task can use anything.
  EXPECT_DOUBLE_EQ(fragmentation({0, 10, {600, 300}}, mix), 900);
  EXPECT_DOUBLE_EQ(fragmentation({10, 10, {0, 0}}, mix), 0);
}

// Whole tasks are the usual ones. A task of 0.3 goes beside another of 0.3, not on a fresh GPU; best fit would open the
// machine with least free.
TEST(Fragmentation, TheGradientKeepsWholeGpusWhole) {
  std::vector<FractionTask> usual(9, task_of(1, 1000));
  usual.push_back(task_of(1, 300));
  const std::vector<FractionMachine> machines = {{100, 100, {1000}}, {100, 100, {1000, 700}}};
  FractionCluster cluster(machines, mix_of(usual));
  const auto gradient = cluster.find(task_of(1, 300), FractionRule::kGradient);
  ASSERT_TRUE(gradient.has_value());
  EXPECT_EQ(gradient->machine, 1);
  EXPECT_EQ(gradient->gpus, std::vector<int>{1});
  EXPECT_EQ(cluster.find(task_of(1, 300), FractionRule::kBestFit)->machine, 0);
  EXPECT_EQ(cluster.find(task_of(2, 1000), FractionRule::kBestFit), std::nullopt);
}

TEST(Fragmentation, ModelsAreKept) {
  FractionCluster cluster({{10, 10, {1000}, 0}, {10, 10, {1000}, 1}}, mix_of({task_of(1, 1000)}));
  FractionTask task = task_of(1, 1000);
  task.models = {1};
  for (const FractionRule rule : {FractionRule::kFirstFit, FractionRule::kBestFit, FractionRule::kGradient}) {
    EXPECT_EQ(cluster.find(task, rule)->machine, 1);
  }
}

// Two GPUs half full with tasks of one half: moving one of them makes a whole GPU.
TEST(Fragmentation, MovesMakeAWholeGpuFree) {
  FractionCluster cluster({{10, 10, {1000}}, {10, 10, {1000}}}, mix_of({task_of(1, 500), task_of(1, 1000)}));
  std::vector<FractionCluster::Placed> placed = {{task_of(1, 500), {0, {0}}}, {task_of(1, 500), {1, {0}}}};
  for (const auto& there : placed) cluster.take(there.task, there.place);
  EXPECT_EQ(cluster.find(task_of(1, 1000), FractionRule::kGradient), std::nullopt);
  EXPECT_EQ(cluster.defragment(placed, 10), 1);
  EXPECT_EQ(placed[0].place.machine, placed[1].place.machine);
  EXPECT_TRUE(cluster.find(task_of(1, 1000), FractionRule::kGradient).has_value());
}

// For any sequence of tasks, the accounts balance, kept gradients equal those of a fresh cluster, and moves lower
// fragmentation.
TEST(Fragmentation, KeptGradientsAreRight) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<FractionTask> usual;
    for (int i = 0; i < 6; ++i) {
      const bool part = random.below(2) == 0;
      usual.push_back(task_of(part ? 1 : static_cast<int>(random.below(3)),
                              part ? 100 * (1 + static_cast<int>(random.below(9))) : 1000,
                              static_cast<std::int64_t>(random.below(8))));
      if (usual.back().gpus == 0) usual.back().milli = 0;
    }
    std::vector<FractionMachine> machines;
    for (int m = 0; m < 5; ++m) machines.push_back({20, 100, std::vector<int>(1 + random.below(4), 1000)});
    const TaskMix mix = mix_of(usual);
    FractionCluster cluster(machines, mix);
    std::vector<FractionCluster::Placed> placed;
    for (int step = 0; step < 60; ++step) {
      if (!placed.empty() && random.below(3) == 0) {
        const auto gone = placed.begin() + static_cast<std::ptrdiff_t>(random.below(placed.size()));
        cluster.give(gone->task, gone->place);
        placed.erase(gone);
        continue;
      }
      const FractionTask task = usual[random.below(usual.size())];
      const auto place = cluster.find(task, FractionRule::kGradient);
      FractionCluster fresh(cluster.machines(), mix);
      const auto again = fresh.find(task, FractionRule::kGradient);
      ASSERT_EQ(place.has_value(), again.has_value());
      if (!place) continue;
      EXPECT_EQ(place->machine, again->machine);
      EXPECT_EQ(place->gpus, again->gpus);
      cluster.take(task, *place);
      placed.push_back({task, *place});
    }
    const double before = cluster.fragmentation_milli();
    const int moves = cluster.defragment(placed, 20);
    EXPECT_LE(cluster.fragmentation_milli(), before);
    EXPECT_EQ(moves > 0, cluster.fragmentation_milli() < before - 1e-7);
    for (const auto& there : placed) cluster.give(there.task, there.place);
    std::int64_t all = 0;
    for (const FractionMachine& machine : machines) all += 1000 * static_cast<std::int64_t>(machine.gpus.size());
    EXPECT_EQ(cluster.free_milli(), all);
  }
}

}  // namespace
}  // namespace orrery::lab
