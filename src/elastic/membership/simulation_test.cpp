// Thousands of simulated jobs, each with other faults. See simulated_job.h.

#include <cstdlib>
#include <gtest/gtest.h>

#include "elastic/membership/simulated_job.h"

namespace orrery::elastic {
namespace {

// For more: ORRERY_SIMULATIONS=10000 elastic_test --gtest_filter='Simulation.*'
std::uint64_t simulations() {
  const char* const wanted = std::getenv("ORRERY_SIMULATIONS");
  return wanted == nullptr ? 150 : std::strtoull(wanted, nullptr, 10);
}

void simulate(const SimulatedJobOptions& options, std::uint64_t first_seed) {
  std::uint64_t steps = 0, memberships = 0, kills = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + simulations(); ++seed) {
    SimulatedJob job(seed, options);
    ASSERT_EQ(job.run(), "") << "seed " << seed << " with " << options.workers << " workers on " << options.hosts
                             << " hosts";
    steps += job.steps();
    memberships += job.memberships();
    kills += job.kills();
  }
  // The faults did happen, and did not keep jobs from working.
  EXPECT_GT(steps, 100 * simulations());
  EXPECT_GT(memberships, 2 * simulations());
  EXPECT_TRUE(kills > simulations() || !options.kills) << kills;
}

TEST(Simulation, WorkersOfOneHostSurviveAnyKills) {
  simulate({.workers = 3, .hosts = 1, .cuts = false}, 1);
  simulate({.workers = 5, .hosts = 1, .faults = 12, .cuts = false}, 1'000'000);
}

TEST(Simulation, WorkersOnHostsOfTheirOwnSurviveKillsAndCuts) {
  simulate({.workers = 5, .hosts = 5}, 2'000'000);
  simulate({.workers = 3, .hosts = 3, .loss = 0.1, .faults = 4}, 3'000'000);
}

TEST(Simulation, TwoHostsWithSeveralWorkersEach) {
  simulate({.workers = 4, .hosts = 2, .faults = 8}, 4'000'000);
}

TEST(Simulation, CutsAloneLoseNoWork) {
  simulate({.workers = 4, .hosts = 4, .faults = 10, .kills = false}, 5'000'000);
}

TEST(Simulation, TheSameSeedIsTheSameStory) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    SimulatedJob a(seed, {}), b(seed, {});
    EXPECT_EQ(a.run(), b.run());
    EXPECT_EQ(a.steps(), b.steps());
    EXPECT_EQ(a.memberships(), b.memberships());
  }
}

}  // namespace
}  // namespace orrery::elastic
