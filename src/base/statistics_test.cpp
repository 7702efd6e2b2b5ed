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

}  // namespace
}  // namespace orrery
