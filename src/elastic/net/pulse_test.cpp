#include "elastic/net/pulse.h"

#include <gtest/gtest.h>

namespace orrery::elastic::net {
namespace {

// Looks every 50 ms from `begin` to `end` at a peer that has not answered since `answered`.
void look_in_vain(Pulse& pulse, double begin, double end, double answered) {
  for (double now = begin; now < end; now += 0.05) pulse.look(Seconds(now), true, Seconds(now - answered));
}

TEST(Pulse, AQuickPeerHasTheLeastDeadline) {
  Pulse pulse;
  for (double now = 1; now < 3; now += 0.05) pulse.look(Seconds(now), true, Seconds(0.049));
  EXPECT_FALSE(pulse.is_silent());
  EXPECT_EQ(pulse.deadline(), Pulse::kDeadlineMin);
  look_in_vain(pulse, 3, 3.12, 2.999);
  EXPECT_FALSE(pulse.is_silent());
  look_in_vain(pulse, 3.15, 3.4, 2.999);
  EXPECT_TRUE(pulse.is_silent());
}

TEST(Pulse, ASlowPeerGetsMoreTime) {
  Pulse pulse;
  // Answers come 150 ms after they were waited for: sample 0.15 each, so mean 0.15; the deviation falls from 0.075.
  double now = 1;
  for (int i = 0; i < 3; ++i) {
    const double asked = now;
    for (int looks = 0; looks < 3; ++looks, now += 0.05) {
      pulse.look(Seconds(now), true, Seconds(now - (asked - 0.001)));
    }
    pulse.look(Seconds(now), false, Seconds(0));
    now += 0.05;
  }
  // 0.15 + 4 · 0.075 · (3/4)² = 0.319
  EXPECT_NEAR(pulse.deadline().value(), 0.319, 0.02);
}

TEST(Pulse, TheDeadlineHasACeiling) {
  Pulse pulse;
  pulse.look(Seconds(1), true, Seconds(5));
  for (double now = 1.05; now < 3; now += 0.05) pulse.look(Seconds(now), true, Seconds(now));
  pulse.look(Seconds(3), false, Seconds(0));  // a sample of 2 s
  EXPECT_EQ(pulse.deadline(), Pulse::kDeadlineMax);
}

TEST(Pulse, NothingOnItsWayIsNoSilence) {
  Pulse pulse;
  for (double now = 1; now < 10; now += 0.05) pulse.look(Seconds(now), false, Seconds(now));
  EXPECT_EQ(pulse.silence(), Seconds(0));
}

TEST(Pulse, TimeThatNobodyWatchedDoesNotCount) {
  Pulse pulse;
  pulse.look(Seconds(1), true, Seconds(0.5));
  pulse.look(Seconds(60), true, Seconds(59.5));  // we were computing, or stopped
  EXPECT_FALSE(pulse.is_silent());
  EXPECT_EQ(pulse.silence(), Seconds(0));
}

}  // namespace
}  // namespace orrery::elastic::net
