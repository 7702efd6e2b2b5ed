#include "base/statistics.h"

#include <gtest/gtest.h>
#include <vector>

namespace orrery {
namespace {

TEST(Statistics, QuantilesInterpolateBetweenNeighbours) {
  const std::vector<double> values = {40, 10, 20, 30};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 17.5);  // place 0.75 between 10 and 20
  EXPECT_DOUBLE_EQ(median(values), 25);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 40);
}

TEST(Statistics, OneValueIsEveryQuantile) {
  const std::vector<double> values = {7};
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 7);
  EXPECT_DOUBLE_EQ(median(values), 7);
}

// From tables of the distribution.
TEST(Statistics, StudentsQuantiles) {
  EXPECT_NEAR(student_quantile(0.9, 4), 1.533206274, 1e-8);
  EXPECT_NEAR(student_quantile(0.95, 1), 6.313751515, 1e-8);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.228138852, 1e-8);
  EXPECT_NEAR(student_quantile(0.995, 30), 2.749995654, 1e-8);
  EXPECT_NEAR(student_quantile(0.025, 10), -2.228138852, 1e-8);
  EXPECT_NEAR(student_quantile(0.975, 1e7), 1.959964, 1e-5);
  EXPECT_NEAR(student_probability(1, 1), 0.75, 1e-12);
  EXPECT_NEAR(student_probability(0, 7), 0.5, 1e-12);
}

TEST(Statistics, StudentsQuantileUndoesItsProbability) {
  for (const double degrees : {1.0, 2.0, 3.5, 12.0, 400.0}) {
    for (const double share : {0.001, 0.1, 0.5, 0.7, 0.999}) {
      EXPECT_NEAR(student_probability(student_quantile(share, degrees), degrees), share, 1e-10);
    }
  }
}

}  // namespace
}  // namespace orrery
