#include "plan/spot.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::plan {
namespace {

TEST(SpotTest, WithoutInterruptionsOnlySavesCost) {
  // 1000 s of work saved every 300 s: after 300, 600 and 900 s.
  const SpotTime at = spot_time(Seconds(1000), 4, {0, Seconds(300), Seconds(10), Seconds(60)});
  EXPECT_DOUBLE_EQ(at.time.value(), 1030);
  EXPECT_DOUBLE_EQ(at.lost.value(), 30);
  EXPECT_EQ(at.interruptions, 0);
  EXPECT_DOUBLE_EQ(spot_time(Seconds(900), 1, {0, Seconds(300), Seconds(10), {}}).time.value(), 920);
}

// One run, interruption by interruption.
double played_s(Random& random, double work_s, double rate, const SpotRules& rules, double& interruptions) {
  double now = 0, done = 0, next = random.exponential(1 / rate);
  while (done < work_s) {
    const double part = std::min(rules.save_every.value(), work_s - done);
    const double segment = part + (done + part < work_s ? rules.save.value() : 0);
    if (now + segment <= next) {
      now += segment;
      done += part;
      continue;
    }
    do {
      ++interruptions;
      now = next;
      next = now + random.exponential(1 / rate);
      now += rules.restart.value();
    } while (now > next);
  }
  return now;
}

TEST(SpotTest, AgreesWithPlayingItOut) {
  const SpotRules rules{0.4, Seconds(1800), Seconds(60), Seconds(600)};
  const Seconds work(20'000);
  constexpr int kMachines = 2, kRuns = 40'000;
  const SpotTime expected = spot_time(work, kMachines, rules);
  Random random(1);
  double sum = 0, squares = 0, interruptions = 0;
  for (int i = 0; i < kRuns; ++i) {
    const double time = played_s(random, work.value(), 0.4 / 3600 * kMachines, rules, interruptions);
    sum += time;
    squares += time * time;
  }
  const double mean = sum / kRuns, error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
  EXPECT_NEAR(mean, expected.time.value(), 4 * error);
  EXPECT_NEAR(interruptions / kRuns, expected.interruptions, 0.03 * expected.interruptions);
  EXPECT_DOUBLE_EQ(expected.lost.value(), expected.time.value() - work.value());
}

TEST(SpotTest, WorkThatNeverGetsToASaveNeverEnds) {
  const SpotTime at = spot_time(Seconds(1e6), 1000, {1, Seconds(1e6), {}, {}});
  EXPECT_TRUE(std::isinf(at.time.value()));
}

}  // namespace
}  // namespace orrery::plan
