#include "schedule/policies/optimus_ps.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "schedule/placement/optimus_placement.h"

namespace orrery::schedule {
namespace {

PsJob random_job(Random& random) {
  PsJob job;
  job.speed = {random.uniform(0.5, 2),  random.uniform(0, 0.1),  random.uniform(0, 0.3),
               random.uniform(0, 0.01), random.uniform(0, 0.01), 1};
  job.steps_left = random.uniform(10, 1000);
  job.server = {1, 1, 0, 0};
  job.worker = {2, 1, 0, 1};
  return job;
}

TEST(OptimusAllocator, GivesTheFirstPairThenTheLargestGain) {
  // Time of a step is 1/w: the second worker saves 0.5 of a step, the second server nothing. With capacity for three
  // tasks, job 1 with more steps gets the third.
  PsJob slow;
  slow.speed.a = 1;
  slow.steps_left = 10;
  slow.server = slow.worker = {1, 0, 0, 0};
  PsJob fast = slow;
  fast.steps_left = 20;
  OptimusAllocator allocator({slow, fast}, {5, 0, 0, 0});
  allocator.allocate();
  EXPECT_EQ(allocator.tasks()[0], (PsTasks{1, 1}));
  EXPECT_EQ(allocator.tasks()[1], (PsTasks{1, 2}));
}

TEST(OptimusAllocator, ChangingAJobIsLikeStartingFromScratch) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    std::vector<PsJob> jobs;
    for (int j = 0; j < 12; ++j) jobs.push_back(random_job(random));
    // Sometimes not every job gets a first pair.
    const PsDemand capacity = {seed % 4 == 0 ? 30.0 : 120.0, 200, 0, 60};
    OptimusAllocator kept(jobs, capacity);
    kept.allocate();
    for (int step = 0; step < 25; ++step) {
      const std::size_t index = random.below(jobs.size());
      jobs[index] = random_job(random);
      if (step % 5 == 0) jobs[index].steps_left = 0;
      std::vector<std::size_t> changed;
      const std::vector<PsTasks> before = kept.tasks();
      kept.change(index, jobs[index], changed);
      OptimusAllocator fresh(jobs, capacity);
      fresh.allocate();
      ASSERT_EQ(kept.tasks(), fresh.tasks()) << "seed " << seed << " step " << step;
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        const bool said = std::find(changed.begin(), changed.end(), j) != changed.end();
        EXPECT_EQ(said, !(kept.tasks()[j] == before[j]));
      }
    }
  }
}

TEST(OptimusPlacement, TakesTheFewestServersEvenly) {
  PsJob job;
  job.server = job.worker = {1, 0, 0, 0};
  OptimusPlacement placement(IndexedVector<MachineIndex, PsDemand>(4, {4, 0, 0, 0}));
  // Six tasks need two servers of four: two servers and one worker pair each way round.
  placement.place_all({job}, {{2, 4}});
  ASSERT_EQ(placement.places_of(0).size(), 2u);
  for (const PsPlace& place : placement.places_of(0)) {
    EXPECT_EQ(place.tasks.servers, 1);
    EXPECT_EQ(place.tasks.workers, 2);
  }
}

TEST(OptimusPlacement, NeverOverfillsAndChangesOnlyWhatItIsTold) {
  Random random(7);
  std::vector<PsJob> jobs;
  for (int j = 0; j < 40; ++j) jobs.push_back(random_job(random));
  OptimusAllocator allocator(jobs, {8 * 50, 64 * 50, 0, 4 * 50});
  allocator.allocate();
  OptimusPlacement placement(IndexedVector<MachineIndex, PsDemand>(50, {8, 64, 0, 4}));
  placement.place_all(allocator.jobs(), allocator.tasks());
  EXPECT_TRUE(placement.is_sound());
  for (int step = 0; step < 30; ++step) {
    std::vector<std::size_t> changed;
    allocator.change(random.below(40), random_job(random), changed);
    placement.place_again(allocator.jobs(), allocator.tasks(), changed);
    EXPECT_TRUE(placement.is_sound());
  }
}

}  // namespace
}  // namespace orrery::schedule
