#include "plan/cbc.h"

#include <gtest/gtest.h>

#include "env/sim_env.h"

namespace orrery::plan {
namespace {

// Minimise −3 x − 2 y − 4 z under x + y + z ≤ 2 and 2 x + y + 3 z ≤ 4, each at most 1: y and z cost 4 but give 6,
// x and y give 5, x and z do not fit.
Milp small() {
  Milp milp;
  milp.add_row(RowSense::kAtMost, 2);
  milp.add_row(RowSense::kAtMost, 4);
  milp.columns = {{-3, 1, {{0, 1}, {1, 2}}}, {-2, 1, {{0, 1}, {1, 1}}}, {-4, 1, {{0, 1}, {1, 3}}}};
  return milp;
}

TEST(PlanCbc, SolvesByHand) {
  const auto answer = solve_with_cbc(small(), {}, env::make_real_env());
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_TRUE(answer->proven);
  EXPECT_EQ(answer->values, (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(answer->objective, -6);
  EXPECT_EQ(answer->bound, -6);
}

TEST(PlanCbc, NoSolutionIsInfeasible) {
  Milp milp = small();
  milp.rows[milp.add_row(RowSense::kAtLeast, 3)].right = 3;
  for (MilpColumn& column : milp.columns) column.entries.emplace_back(2, 1);
  EXPECT_EQ(solve_with_cbc(milp, {}, env::make_real_env()).error().code(), ErrorCode::kInfeasible);
}

// CBC as a function that writes `answer` where it is told to.
class FakeCbc : public ::testing::Test {
 protected:
  FakeCbc() { EXPECT_TRUE(sim_.files.make_directory("/tmp")); }

  void install(env::SimRun run, std::string answer) {
    sim_.processes.add_program("cbc", [this, run, answer](const env::ProcessSpec& spec) {
      if (!answer.empty()) static_cast<void>(sim_.files.write_atomically(spec.argv.back(), answer).has_value());
      return run;
    });
  }
  Result<MilpAnswer> solve() {
    auto answer = solve_with_cbc(small(), {.limit = Seconds(10)}, sim_.env());
    EXPECT_TRUE(sim_.files.list("/tmp")->empty()) << "files are left behind";
    return answer;
  }
  std::string error() {
    const auto answer = solve();
    return answer ? std::string("none") : answer.error().to_string();
  }

  env::SimEnv sim_;
};

TEST_F(FakeCbc, Missing) {
  EXPECT_EQ(error(), "cbc: no program \"cbc\"; install the package coinor-cbc or set ORRERY_CBC");
}

TEST_F(FakeCbc, LateIsKilledAtTheDeadline) {
  install({.duration = Seconds(1e6), .ignores_terminate = true}, "");
  const Seconds start = sim_.clock.monotonic();
  EXPECT_EQ(error(), "cbc: no answer within 10.0 s");
  EXPECT_NEAR((sim_.clock.monotonic() - start).value(), 10, 1e-6);
}

TEST_F(FakeCbc, FailedOrUnreadable) {
  install({.duration = Seconds(1), .exit_code = 3}, "");
  EXPECT_EQ(error(), "cbc: exit code 3");
  install({.duration = Seconds(1)}, "");
  EXPECT_EQ(error(), "cbc: cannot read its answer: it wrote none");
  install({.duration = Seconds(1)}, "what\n");
  EXPECT_EQ(error(), "cbc: cannot read its answer: \"what\"");
  install({.duration = Seconds(1)}, "Optimal - objective value 1\n 0 c7 1 0\n");
  EXPECT_EQ(error(), "cbc: cannot read its answer: \" 0 c7 1 0\"");
  install({.duration = Seconds(1)}, "Stopped on time (no integer solution - continuous used) - objective value 1\n");
  EXPECT_EQ(error(), "cbc: found no plan within its time");
}

TEST_F(FakeCbc, StoppedEarlyKeepsTheBestAndTheBound) {
  install({.duration = Seconds(9), .standard_output = "Result\n\nLower bound:      -6500.000\nGap: 0.1\n"},
          "Stopped on time - objective value -5000\n      0 c0    1    -3\n      1 c1    1   -2\n");
  const auto answer = solve();
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_FALSE(answer->proven);
  EXPECT_EQ(answer->objective, -5);
  EXPECT_NEAR(answer->bound, -6.5, 2e-6);
}

}  // namespace
}  // namespace orrery::plan
