#include "profile/profiler.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <rapidcheck/gtest.h>

#include "env/sim_env.h"
#include "profile/scripted_executor.h"
#include "workload/graph_builder.h"

namespace orrery::profile {
namespace {

workload::TrainingRun small_run() {
  workload::GraphBuilder g("small");
  const workload::Value x = g.input("x", {1, 4});
  g.cross_entropy(g.linear(x, "fc", 3));
  return {*g.finish()};
}

Profile measured(ScriptedExecutor& executor, const ProfileOptions& options = {}) {
  env::SimEnv env;
  auto profile = measure(small_run(), executor, options, env.env().files, env.env().clock);
  EXPECT_TRUE(profile) << profile.error().to_string();
  return profile ? *profile : Profile{};
}

TEST(Profiler, PartsOfOneOperatorAreJoinedAndTheirIdleTimeIsGap) {
  ScriptedExecutor executor(1.0, 1.0);
  const Profile profile = measured(executor);
  ASSERT_EQ(profile.trace.operators.size(), 3U);
  const auto& forward = profile.trace.operators[0];
  EXPECT_EQ(forward.name, "fc");
  EXPECT_EQ(forward.kind, "linear");
  EXPECT_NEAR(forward.execution.value(), 0.30, 1e-9);
  EXPECT_NEAR(forward.gap.value(), 0.20, 1e-9);  // 0.1 before it, 0.1 after it
  const auto& backward = profile.trace.operators[1];
  EXPECT_NEAR(backward.execution.value(), 0.20, 1e-9);
  EXPECT_NEAR(backward.gap.value(), 0.20, 1e-9);  // 0.1 between its parts, 0.1 after them
  EXPECT_NEAR(profile.trace.operators[2].gap.value(), 0.05, 1e-9);
}

TEST(Profiler, ExecutionAndGapsAddUpToTheTracedStep) {
  rc::check("Σ (execution + gap) = traced time", [] {
    const double traced_s = 1e-6 * *rc::gen::inRange(1, 1'000'000);
    ScriptedExecutor executor(traced_s, traced_s);
    const Profile profile = measured(executor);
    RC_ASSERT(std::abs(profile.trace.iteration().value() - traced_s) < 1e-9);
    RC_ASSERT(std::abs(profile.conservation) < 1e-6);
  });
}

TEST(Profiler, OverheadIsTracedOverPlain) {
  ScriptedExecutor executor(1.0, 1.04);
  const Profile profile = measured(executor);
  EXPECT_NEAR(profile.overhead, 0.04, 1e-9);
  EXPECT_NEAR(profile.conservation, 0.04, 1e-9);
  EXPECT_NEAR(profile.iteration.value(), 1.0, 1e-9);
}

TEST(Profiler, DisturbedStepsAreLeftOut) {
  // Steps 0 to 2 warm up; 3 is plain, 4 and 5 traced, 6 and 7 plain, …
  ScriptedExecutor executor(1.0, 1.0, {4, 5, 10});
  const Profile profile = measured(executor);
  EXPECT_EQ(profile.measured, 10);
  EXPECT_EQ(profile.kept, 8);
  EXPECT_NEAR(profile.conservation, 0, 1e-9);
  EXPECT_FALSE(profile.is_noisy);
}

TEST(Profiler, AMachineThatIsBusyHalfTheTimeIsCalledNoisy) {
  ScriptedExecutor executor(1.0, 1.0, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  EXPECT_TRUE(measured(executor).is_noisy);
}

TEST(Profiler, StopsAfterThreeRoundsWhenTimeIsUp) {
  ScriptedExecutor executor(1.0, 1.0);
  env::SimEnv env;
  ProfileOptions options;
  options.repetitions = 50;
  options.time_max = Seconds(0.5);
  // The simulated clock does not move while a step is played, so the progress report moves it.
  auto profile = measure(small_run(), executor, options, env.env().files, env.env().clock,
                         {.before_step = {}, .after_round = [&](int, int) { env.env().clock.sleep(Seconds(1)); }});
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->measured, 3);
  EXPECT_EQ(executor.steps(), 3 + 2 * 3);
}

// The script's steps take two seconds on a core that is half as fast as a quiet one.
TEST(Profiler, TimesAreThoseOfAQuietCore) {
  ScriptedExecutor executor(2.0, 2.0);
  env::SimEnv env;
  const auto profile = measure(small_run(), executor, ProfileOptions{}, env.env().files, env.env().clock,
                               {.slowness = [] { return 2.0; }});
  ASSERT_TRUE(profile);
  EXPECT_DOUBLE_EQ(profile->slowness, 2);
  EXPECT_DOUBLE_EQ(profile->iteration.value(), 1);
  EXPECT_NEAR(profile->trace.iteration().value(), 1, 1e-12);
}

TEST(Profiler, AStepIsComparedWithTheCoreBeforeAndBehindIt) {
  ScriptedExecutor executor(1.5, 1.5);
  env::SimEnv env;
  int asked = 0;
  const auto profile = measure(small_run(), executor, ProfileOptions{}, env.env().files, env.env().clock,
                               {.slowness = [&] { return asked++ % 2 == 0 ? 1.0 : 2.0; }});
  ASSERT_TRUE(profile);
  EXPECT_DOUBLE_EQ(profile->iteration.value(), 1);
  EXPECT_EQ(asked, 1 + 2 * ProfileOptions{}.repetitions);
}

}  // namespace
}  // namespace orrery::profile
