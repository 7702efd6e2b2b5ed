// Clocks, terminal facts, and the bundles.

#include "env/env.h"

#include <gtest/gtest.h>
#include <limits>
#include <unistd.h>

#include "env/real_clock.h"
#include "env/sim_env.h"

namespace orrery::env {
namespace {

TEST(RealClockTest, SleepsAtLeastAsLongAsAsked) {
  RealClock clock;
  const Seconds start = clock.monotonic();
  clock.sleep(Seconds(0.01));
  clock.sleep(Seconds(-1));
  EXPECT_GE(clock.monotonic() - start, Seconds(0.0099));
  EXPECT_GT(clock.wall(), Seconds(1.6e9));
}

TEST(RealClockTest, TellsHowLongAProcessHasRun) {
  RealClock clock;
  const auto before = clock.processor_time(::getpid());
  ASSERT_TRUE(before);
  volatile double work = 0;
  const Seconds until = clock.monotonic() + Seconds(120);  // of a machine that gives us nothing
  std::optional<Seconds> after = before;
  while (*after - *before < Seconds(0.01) && clock.monotonic() < until) {
    for (int i = 0; i < 100'000; ++i) work = work + i;
    after = clock.processor_time(::getpid());
  }
  EXPECT_GE(*after - *before, Seconds(0.01));
  clock.sleep(Seconds(0.05));
  EXPECT_LT(*clock.processor_time(::getpid()) - *after, Seconds(0.04)) << "it slept";
  EXPECT_FALSE(clock.processor_time(std::int64_t{1} << 30));
}

TEST(SimClockTest, RunsEventsByTimeThenByOrderOfScheduling) {
  SimClock clock;
  std::string order;
  clock.at(Seconds(2), [&] { order += "c"; });
  clock.at(Seconds(1), [&] { order += "a"; });
  clock.at(Seconds(1), [&] { order += "b"; });
  const auto cancelled = clock.at(Seconds(1), [&] { order += "x"; });
  clock.at(Seconds(3.5), [&] { order += "late"; });
  clock.cancel(cancelled);
  clock.advance(Seconds(3));
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(clock.monotonic(), Seconds(3));
  EXPECT_EQ(clock.wall(), Seconds(1'700'000'003));
}

TEST(SimClockTest, AnEventMayScheduleAndSleep) {
  SimClock clock;
  std::vector<double> times;
  clock.at(Seconds(1), [&] {
    clock.at(Seconds(1.5), [&] { times.push_back(clock.monotonic().value()); });
    clock.sleep(Seconds(2));
    times.push_back(clock.monotonic().value());
  });
  clock.advance(Seconds(2));
  EXPECT_EQ(times, (std::vector<double>{1.5, 3}));
  EXPECT_EQ(clock.monotonic(), Seconds(3)) << "time does not go back after a nested sleep";
}

TEST(SimClockTest, AdvanceUntilStopsAtTheConditionTheTimeoutOrTheLastEvent) {
  SimClock clock;
  bool happened = false;
  clock.at(Seconds(5), [&] { happened = true; });
  EXPECT_FALSE(clock.advance_until([&] { return happened; }, Seconds(4)));
  EXPECT_EQ(clock.monotonic(), Seconds(4));
  EXPECT_TRUE(clock.advance_until([&] { return happened; }, Seconds(4)));
  EXPECT_EQ(clock.monotonic(), Seconds(5));
  EXPECT_FALSE(clock.advance_until([] { return false; }, Seconds(std::numeric_limits<double>::infinity())));
}

TEST(EnvTest, TheRealOneIsThisMachine) {
  const Env env = make_real_env();
  EXPECT_TRUE(env.files.exists("/"));
  EXPECT_TRUE(env.variables.get("PATH").has_value());
  EXPECT_FALSE(env.variables.get("ORRERY_NO_SUCH_VARIABLE").has_value());
  EXPECT_GT(env.terminal.width(), 0);
}

TEST(EnvTest, TheSimulatedOneIsWhatTheTestSays) {
  SimEnv sim;
  sim.variables.set("HOME", "/home/ada");
  sim.terminal.set(true, 132);
  const Env env = sim.env();
  EXPECT_EQ(env.variables.get("HOME"), "/home/ada");
  EXPECT_EQ(env.terminal.width(), 132);
  EXPECT_TRUE(env.terminal.is_terminal());
  env.clock.sleep(hours(1));
  EXPECT_EQ(sim.clock.monotonic(), hours(1));
}

}  // namespace
}  // namespace orrery::env
