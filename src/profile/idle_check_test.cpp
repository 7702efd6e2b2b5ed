#include "profile/idle_check.h"

#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

#include "env/sim_env.h"

namespace orrery::profile {
namespace {

// Two cores at 100 ticks a second, of which this process used `ours` and everything together `busy`.
void tell(env::SimEnv& sim, int busy, int ours) {
  const int total = 20'000 + static_cast<int>(200 * sim.clock.monotonic().value());
  ASSERT_TRUE(sim.files.make_directory("/proc/self"));
  ASSERT_TRUE(sim.files.write_atomically(
      "/proc/stat", fmt::format("cpu  {} 0 0 {} 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n",
                                busy, total - busy)));
  ASSERT_TRUE(sim.files.write_atomically(
      "/proc/self/stat", fmt::format("7 (orrery) R 1 7 7 0 -1 4194304 1 0 0 0 {} 0 0 0 20 0 1 0 9 1 1\n", ours)));
}

TEST(IdleCheck, OursDoNotCountAsOthers) {
  env::SimEnv sim;
  tell(sim, 100, 100);
  const OtherProcesses others(sim.env());
  sim.clock.advance(Seconds(100));
  tell(sim, 5100, 5100);
  EXPECT_EQ(others.cores(), 0);
}

TEST(IdleCheck, OthersCountInCores) {
  env::SimEnv sim;
  tell(sim, 100, 100);
  const OtherProcesses others(sim.env());
  EXPECT_EQ(others.cores(), 0) << "no time has passed";
  sim.clock.advance(Seconds(100));
  tell(sim, 10'100, 5100);
  EXPECT_DOUBLE_EQ(others.cores(), 0.5);
}

TEST(IdleCheck, WaitsUntilOthersAreDone) {
  env::SimEnv sim;
  tell(sim, 0, 0);
  int busy = 0;
  std::function<void()> work = [&] {  // another process, until second 5
    tell(sim, ++busy * 10, 0);
    if (sim.clock.monotonic() < Seconds(5)) sim.clock.at(sim.clock.monotonic() + Seconds(0.1), work);
  };
  sim.clock.at(Seconds(0.1), work);
  EXPECT_TRUE(wait_until_idle(sim.env(), Seconds(60)));
  EXPECT_GT(sim.clock.monotonic(), Seconds(5));
  EXPECT_LT(sim.clock.monotonic(), Seconds(7));
}

// Another process never leaves the machine alone.
class BusyMachine : public testing::Test {
 protected:
  BusyMachine() {
    tell(sim_, 0, 0);
    work();
  }

  env::SimEnv sim_;

 private:
  void work() {
    tell(sim_, busy_++ * 10, 0);
    sim_.clock.at(sim_.clock.monotonic() + Seconds(0.1), [this] { work(); });
  }
  int busy_ = 0;
};

TEST_F(BusyMachine, IsNotWaitedForWithoutEnd) {
  EXPECT_FALSE(wait_until_idle(sim_.env(), Seconds(10)));
  EXPECT_GE(sim_.clock.monotonic(), Seconds(10));
  EXPECT_LT(sim_.clock.monotonic(), Seconds(12));
}

TEST_F(BusyMachine, IsLookedAtOnceWithoutAWait) {
  EXPECT_FALSE(wait_until_idle(sim_.env(), Seconds(0)));
  EXPECT_LT(sim_.clock.monotonic(), Seconds(1));
}

TEST(IdleCheck, WithoutProcNothingDisturbs) {
  env::SimEnv sim;
  EXPECT_TRUE(wait_until_idle(sim.env(), Seconds(60)));
  EXPECT_LT(sim.clock.monotonic(), Seconds(1));
}

}  // namespace
}  // namespace orrery::profile
