// Thousands of jobs in simulation, each with other faults. See simulated_world.h.

#include <cstdlib>
#include <gtest/gtest.h>

#include "elastic/member/simulated_world.h"

namespace orrery::elastic {
namespace {

// More of them: ORRERY_SIMULATIONS=10000 elastic_test --gtest_filter='Simulation.*'
std::uint64_t simulations() {
  const char* const wanted = std::getenv("ORRERY_SIMULATIONS");
  return wanted == nullptr ? 150 : std::strtoull(wanted, nullptr, 10);
}

void simulate(const WorldOptions& options, std::uint64_t first_seed) {
  std::uint64_t steps = 0, views = 0, kills = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + simulations(); ++seed) {
    World world(seed, options);
    ASSERT_EQ(world.run(), "") << "seed " << seed << " with " << options.members << " members on " << options.hosts
                               << " hosts";
    steps += world.steps();
    views += world.views();
    kills += world.kills();
  }
  // The faults did happen, and did not keep jobs from working.
  EXPECT_GT(steps, 100 * simulations());
  EXPECT_GT(views, 2 * simulations());
  EXPECT_TRUE(kills > simulations() || !options.kills) << kills;
}

TEST(Simulation, MembersOfOneHostSurviveAnyKills) {
  simulate({.members = 3, .hosts = 1, .cuts = false}, 1);
  simulate({.members = 5, .hosts = 1, .faults = 12, .cuts = false}, 1'000'000);
}

TEST(Simulation, MembersOnHostsOfTheirOwnSurviveKillsAndCuts) {
  simulate({.members = 5, .hosts = 5}, 2'000'000);
  simulate({.members = 3, .hosts = 3, .loss = 0.1, .faults = 4}, 3'000'000);
}

TEST(Simulation, TwoHostsWithSeveralMembersEach) {
  simulate({.members = 4, .hosts = 2, .faults = 8}, 4'000'000);
}

TEST(Simulation, CutsAloneLoseNobodysWork) {
  simulate({.members = 4, .hosts = 4, .faults = 10, .kills = false}, 5'000'000);
}

TEST(Simulation, TheSameSeedIsTheSameStory) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    World a(seed, {}), b(seed, {});
    EXPECT_EQ(a.run(), b.run());
    EXPECT_EQ(a.steps(), b.steps());
    EXPECT_EQ(a.views(), b.views());
  }
}

}  // namespace
}  // namespace orrery::elastic
