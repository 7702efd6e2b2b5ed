#include "profile/core_probe.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "env/real_clock.h"
#include "env/sim_clock.h"

namespace orrery::profile {
namespace {

TEST(CoreProbe, AnUndisturbedPassIsNearTheFastest) {
  env::RealClock clock;
  CoreProbe probe(clock);
  double best = probe.slowness();
  for (int i = 0; i < 200; ++i) best = std::min(best, probe.slowness());
  EXPECT_GT(best, 0.8);
  EXPECT_LT(best, 1.3);
}

TEST(CoreProbe, AClockThatStandsStillSaysNothing) {
  env::SimClock clock;
  CoreProbe probe(clock);
  EXPECT_EQ(probe.slowness(), 1);
}

}  // namespace
}  // namespace orrery::profile
