#include "schedule/lp/simplex.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::schedule {
namespace {

constexpr double kClose = 1e-6;

// Minimise -3 x - 5 y under x <= 4, 2 y <= 12, 3 x + 2 y <= 18: x = 2, y = 6, -36. A unit more of the second row saves
// 1.5, of the third 1.
TEST(SimplexTest, ByHand) {
  LinearProgram program;
  for (const double most : {4.0, 12.0, 18.0}) program.add_row(-kLpInfinity, most);
  program.add_column(-3, 0, kLpInfinity, {{0, 1}, {2, 3}});
  program.add_column(-5, 0, kLpInfinity, {{1, 2}, {2, 2}});
  const LpSolution solution = solve(program);
  ASSERT_EQ(solution.status, LpStatus::kOptimal);
  EXPECT_NEAR(solution.objective, -36, kClose);
  EXPECT_NEAR(solution.columns[0], 2, kClose);
  EXPECT_NEAR(solution.columns[1], 6, kClose);
  EXPECT_NEAR(solution.prices[0], 0, kClose);
  EXPECT_NEAR(solution.prices[1], -1.5, kClose);
  EXPECT_NEAR(solution.prices[2], -1, kClose);
}

TEST(SimplexTest, SaysWhatHasNoAnswer) {
  LinearProgram none;
  none.add_row(3, kLpInfinity);
  none.add_column(1, 0, 1, {{0, 1}});
  none.add_column(1, 0, 1, {{0, 1}});
  EXPECT_EQ(solve(none).status, LpStatus::kInfeasible);

  LinearProgram endless;
  endless.add_row(-1, kLpInfinity);
  endless.add_column(-1, 0, kLpInfinity, {{0, 1}});
  endless.add_column(0, -kLpInfinity, kLpInfinity, {{0, -1}});
  EXPECT_EQ(solve(endless).status, LpStatus::kUnbounded);

  LinearProgram empty;
  EXPECT_EQ(solve(empty).status, LpStatus::kOptimal);
  empty.add_column(-2, -1, 3, {});
  EXPECT_EQ(solve(empty).objective, -6);
  empty.add_row(1, 2);
  EXPECT_EQ(solve(empty).status, LpStatus::kInfeasible);
}

// Beale's example, on which Dantzig's rule cycles for ever: the least is -1/20.
TEST(SimplexTest, DoesNotCycle) {
  LinearProgram program;
  for (const double most : {0.0, 0.0, 1.0}) program.add_row(-kLpInfinity, most);
  program.add_column(-0.75, 0, kLpInfinity, {{0, 0.25}, {1, 0.5}});
  program.add_column(150, 0, kLpInfinity, {{0, -60}, {1, -90}});
  program.add_column(-0.02, 0, kLpInfinity, {{0, -0.04}, {1, -0.02}, {2, 1}});
  program.add_column(6, 0, kLpInfinity, {{0, 9}, {1, 3}});
  const LpSolution solution = solve(program);
  ASSERT_EQ(solution.status, LpStatus::kOptimal);
  EXPECT_NEAR(solution.objective, -0.05, kClose);
}

LinearProgram synthetic(Random& random, int rows, int columns) {
  LinearProgram program;
  const auto whole = [&](int low, int high) { return low + static_cast<int>(random.below(high - low + 1)); };
  std::vector<double> activity(static_cast<std::size_t>(rows), 0);
  std::vector<std::vector<LpEntry>> entries;
  for (int j = 0; j < columns; ++j) {
    std::vector<LpEntry>& column = entries.emplace_back();
    for (int i = 0; i < rows; ++i) {
      if (random.below(3) == 0 && whole(-4, 4) != 0) column.push_back({i, static_cast<double>(whole(1, 9) - 4)});
    }
    // A point that is inside, so that most programs have one.
    const double inside = whole(-1, 3);
    for (const LpEntry& entry : column) activity[static_cast<std::size_t>(entry.row)] += entry.value * inside;
  }
  for (int i = 0; i < rows; ++i) {
    const double there = activity[static_cast<std::size_t>(i)];
    const double low = there - whole(0, 3), high = there + whole(0, 3);
    const int kind = whole(0, 3);
    program.add_row(kind == 0 ? -kLpInfinity : low, kind == 1 ? kLpInfinity : kind == 2 ? low : high);
  }
  for (int j = 0; j < columns; ++j) {
    const int kind = whole(0, 4);
    program.add_column(whole(-5, 5), kind == 0 ? -kLpInfinity : -1, kind <= 1 ? kLpInfinity : 3,
                       entries[static_cast<std::size_t>(j)]);
  }
  return program;
}

double distance(double value, const LpBounds& bounds) {
  return std::max({0.0, bounds.lower - value, value - bounds.upper});
}

// An answer carries its own proof: a point inside all bounds, and prices that prove that no point is better. A
// multiplier that is not 0 says that its variable is at the bound of that side.
void expect_proven(const LinearProgram& program, const LpSolution& solution) {
  const auto check = [](double value, double multiplier, const LpBounds& bounds) {
    EXPECT_LE(distance(value, bounds), kClose);
    if (multiplier > kClose) {
      EXPECT_NEAR(value, bounds.lower, kClose);
    } else if (multiplier < -kClose) {
      EXPECT_NEAR(value, bounds.upper, kClose);
    }
  };
  for (std::size_t i = 0; i < program.rows.size(); ++i) check(solution.rows[i], solution.prices[i], program.rows[i]);
  for (std::size_t j = 0; j < program.columns.size(); ++j) {
    double reduced = program.columns[j].cost;
    for (const LpEntry& entry : program.columns[j].entries) {
      reduced -= solution.prices[static_cast<std::size_t>(entry.row)] * entry.value;
    }
    check(solution.columns[j], reduced, program.columns[j].bounds);
  }
}

TEST(SimplexTest, AnswersCarryTheirProof) {
  int optimal = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const int rows = 1 + static_cast<int>(random.below(25)), columns = 1 + static_cast<int>(random.below(40));
    const LinearProgram program = synthetic(random, rows, columns);
    const LpSolution solution = solve(program);
    ASSERT_NE(solution.status, LpStatus::kStopped) << seed;
    if (solution.status != LpStatus::kOptimal) continue;
    ++optimal;
    expect_proven(program, solution);
  }
  EXPECT_GT(optimal, 100);
}

TEST(SimplexTest, AKnownBasisSavesSteps) {
  int cold = 0, warm = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    LinearProgram program = synthetic(random, 20, 40);
    const LpSolution before = solve(program);
    if (before.status != LpStatus::kOptimal) continue;
    for (LpBounds& row : program.rows) row.upper += 0.5;
    const LpSolution again = solve(program, {.start = before.places}), anew = solve(program);
    ASSERT_EQ(again.status, anew.status);
    if (anew.status == LpStatus::kOptimal) {
      EXPECT_NEAR(again.objective, anew.objective, kClose);
    }
    cold += anew.steps;
    warm += again.steps;
  }
  EXPECT_LT(warm * 2, cold);
}

}  // namespace
}  // namespace orrery::schedule
