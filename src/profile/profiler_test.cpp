#include "profile/profiler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "env/sim_env.h"
#include "workload/graph_builder.h"

namespace orrery::profile {
namespace {

using workload::Phase;

workload::TrainingRun small_run() {
  workload::GraphBuilder g("small");
  const workload::Value x = g.input("x", {1, 4});
  g.cross_entropy(g.linear(x, "fc", 3));
  return {*g.finish()};
}

// Plays back the same step, `plain` or `traced` long, with `extra` seconds in the rounds that are listed.
class ScriptedExecutor final : public Executor {
 public:
  ScriptedExecutor(double plain_s, double traced_s, std::vector<int> disturbed_steps = {})
      : plain_s_(plain_s), traced_s_(traced_s), disturbed_(std::move(disturbed_steps)) {}

  Result<StepRecord> step(Trace trace) override {
    const bool disturbed = std::find(disturbed_.begin(), disturbed_.end(), steps_++) != disturbed_.end();
    const double length = (trace == Trace::kYes ? traced_s_ : plain_s_) * (disturbed ? 10 : 1);
    StepRecord record{Seconds(now_), Seconds(now_ + length), 0.5, {}};
    if (trace == Trace::kYes) {
      // fc forward takes 30 %, backward 20 % in two parts 10 % apart, update 5 %; the rest is gaps.
      add(record, 1, Phase::kForward, 0.10, 0.40, length);
      add(record, 1, Phase::kBackward, 0.50, 0.60, length);
      add(record, 1, Phase::kBackward, 0.70, 0.80, length);
      add(record, 1, Phase::kUpdate, 0.90, 0.95, length);
    }
    now_ += length;
    return record;
  }

  Result<std::vector<LibraryCall>> list_calls() override { return std::vector<LibraryCall>(); }
  Result<double> compute_gradients() override { return 0.0; }
  Result<std::vector<float>> parameter(const std::string&) const override { return std::vector<float>(); }
  Result<std::vector<float>> gradient(const std::string&) const override { return std::vector<float>(); }
  Status set_parameter(const std::string&, std::span<const float>) override { return {}; }
  Result<std::vector<float>> parameters() const override { return std::vector<float>(); }
  Result<std::vector<float>> gradients() const override { return std::vector<float>(); }
  Status set_parameters(std::span<const float>) override { return {}; }
  Status set_input(std::size_t, std::span<const float>) override { return {}; }
  Result<std::vector<float>> input(std::size_t) const override { return std::vector<float>(); }
  Status set_target(std::size_t, std::span<const float>) override { return {}; }
  Result<std::vector<float>> target(std::size_t) const override { return std::vector<float>(); }

  int steps() const { return steps_; }

 private:
  void add(StepRecord& record, std::int32_t node, Phase phase, double from, double to, double length) const {
    record.samples.push_back({node, phase, Seconds(now_ + from * length), Seconds(now_ + to * length)});
  }

  double plain_s_, traced_s_, now_ = 5;
  std::vector<int> disturbed_;
  int steps_ = 0;
};

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
  // The simulated clock stands still while a step is played, so time is moved by the progress report.
  auto profile = measure(small_run(), executor, options, env.env().files, env.env().clock,
                         {.before_step = {}, .after_round = [&](int, int) { env.env().clock.sleep(Seconds(1)); }});
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->measured, 3);
  EXPECT_EQ(executor.steps(), 3 + 2 * 3);
}

}  // namespace
}  // namespace orrery::profile
