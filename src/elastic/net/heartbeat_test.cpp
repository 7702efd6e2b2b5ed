#include "elastic/net/heartbeat.h"

#include <gtest/gtest.h>

namespace orrery::elastic::net {
namespace {

// Checks a peer that has not answered since `answered` every 50 ms from `begin` to `end`.
void look_in_vain(Heartbeat& heartbeat, double begin, double end, double answered) {
  for (double now = begin; now < end; now += 0.05) heartbeat.look(Seconds(now), true, Seconds(now - answered));
}

TEST(Heartbeat, AQuickPeerHasTheLeastDeadline) {
  Heartbeat heartbeat;
  for (double now = 1; now < 3; now += 0.05) heartbeat.look(Seconds(now), true, Seconds(0.049));
  EXPECT_FALSE(heartbeat.is_silent());
  EXPECT_EQ(heartbeat.deadline(), Heartbeat::kDeadlineMin);
  look_in_vain(heartbeat, 3, 3.12, 2.999);
  EXPECT_FALSE(heartbeat.is_silent());
  look_in_vain(heartbeat, 3.15, 3.4, 2.999);
  EXPECT_TRUE(heartbeat.is_silent());
}

TEST(Heartbeat, ASlowPeerGetsMoreTime) {
  Heartbeat heartbeat;
  // Answers come 150 ms after they were waited for: sample 0.15 each, so mean 0.15; the deviation falls from 0.075.
  double now = 1;
  for (int i = 0; i < 3; ++i) {
    const double asked = now;
    for (int looks = 0; looks < 3; ++looks, now += 0.05) {
      heartbeat.look(Seconds(now), true, Seconds(now - (asked - 0.001)));
    }
    heartbeat.look(Seconds(now), false, Seconds(0));
    now += 0.05;
  }
  // 0.15 + 4 · 0.075 · (3/4)² = 0.319
  EXPECT_NEAR(heartbeat.deadline().value(), 0.319, 0.02);
}

TEST(Heartbeat, TheDeadlineHasACeiling) {
  Heartbeat heartbeat;
  heartbeat.look(Seconds(1), true, Seconds(5));
  for (double now = 1.05; now < 3; now += 0.05) heartbeat.look(Seconds(now), true, Seconds(now));
  heartbeat.look(Seconds(3), false, Seconds(0));  // a sample of 2 s
  EXPECT_EQ(heartbeat.deadline(), Heartbeat::kDeadlineMax);
}

TEST(Heartbeat, NothingOnItsWayIsNoSilence) {
  Heartbeat heartbeat;
  for (double now = 1; now < 10; now += 0.05) heartbeat.look(Seconds(now), false, Seconds(now));
  EXPECT_EQ(heartbeat.silence(), Seconds(0));
}

TEST(Heartbeat, UnwatchedTimeDoesNotCount) {
  Heartbeat heartbeat;
  heartbeat.look(Seconds(1), true, Seconds(0.5));
  heartbeat.look(Seconds(60), true, Seconds(59.5));  // we were computing, or stopped
  EXPECT_FALSE(heartbeat.is_silent());
  EXPECT_EQ(heartbeat.silence(), Seconds(0));
}

}  // namespace
}  // namespace orrery::elastic::net
