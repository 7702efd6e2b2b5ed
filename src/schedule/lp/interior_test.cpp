#include "schedule/lp/interior.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::schedule {
namespace {

// Minimise -x - y under x + y <= 2, x >= 0, y >= 0: every point between (0, 2) and (2, 0) is best, the middle is (1,
// 1).
TEST(InteriorTest, TheMiddleOfTheBestPoints) {
  LinearProgram program;
  program.add_row(-kLpInfinity, 2);
  program.add_column(-1, 0, kLpInfinity, {{0, 1}});
  program.add_column(-1, 0, kLpInfinity, {{0, 1}});
  const LpSolution solution = solve_interior(program);
  ASSERT_EQ(solution.status, LpStatus::kOptimal);
  EXPECT_NEAR(solution.columns[0], 1, 1e-5);
  EXPECT_NEAR(solution.columns[1], 1, 1e-5);
  EXPECT_NEAR(solution.prices[0], -1, 1e-5);
}

TEST(InteriorTest, SaysWhenItHasNoAnswer) {
  LinearProgram none;
  none.add_row(3, kLpInfinity);
  none.add_row(-kLpInfinity, 2);
  none.add_column(1, 0, kLpInfinity, {{0, 1}, {1, 1}});
  EXPECT_NE(solve_interior(none).status, LpStatus::kOptimal);
  LinearProgram endless;
  endless.add_row(1, kLpInfinity);
  endless.add_column(-1, 0, kLpInfinity, {{0, 1}});
  EXPECT_NE(solve_interior(endless).status, LpStatus::kOptimal);
}

// Two methods that have nothing in common find the same optimum.
TEST(InteriorTest, AgreesWithTheSimplex) {
  int optimal = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    LinearProgram program;
    const std::size_t rows = 1 + random.below(20), columns = 1 + random.below(30);
    for (std::size_t i = 0; i < rows; ++i) {
      // A point with every x = 1 is inside; the first row keeps sums in bounds.
      if (i == 0 || random.below(2) == 0) {
        program.add_row(-kLpInfinity, 0);
      } else {
        program.add_row(0, kLpInfinity);
      }
    }
    std::vector<double> sums(rows, 0);
    for (std::size_t j = 0; j < columns; ++j) {
      std::vector<LpEntry> entries = {{0, 1}};
      sums[0] += 1;
      for (std::size_t i = 1; i < rows; ++i) {
        if (random.below(3) != 0) continue;
        entries.push_back({static_cast<int>(i), random.uniform(-3, 5)});
        sums[i] += entries.back().value;
      }
      program.add_column(random.uniform(-5, 5), 0, kLpInfinity, std::move(entries));
    }
    for (std::size_t i = 0; i < rows; ++i) {
      LpBounds& row = program.rows[i];
      (row.upper < kLpInfinity ? row.upper : row.lower) =
          sums[i] + (row.upper < kLpInfinity ? 1 : -1) * random.uniform(0, 2);
    }
    const LpSolution corner = solve(program), middle = solve_interior(program);
    ASSERT_EQ(corner.status, LpStatus::kOptimal) << seed;
    ASSERT_EQ(middle.status, LpStatus::kOptimal) << seed;
    EXPECT_NEAR(middle.objective, corner.objective, 1e-5 * (1 + std::abs(corner.objective))) << seed;
    ++optimal;
  }
  EXPECT_EQ(optimal, 200);
}

}  // namespace
}  // namespace orrery::schedule
