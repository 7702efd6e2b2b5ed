#include "lab/methods/placement_model.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::lab {
namespace {

TEST(PlacementModel, LearnsComputationAndExchange) {
  const auto law = [](double k, double n, double batch) {
    return 0.02 + 0.003 * batch + (k > 1 ? 0.01 : 0) + (n > 1 ? 0.05 * (n - 1) / n : 0);
  };
  std::vector<PlacementSample> samples;
  for (const double n : {1.0, 2.0, 4.0}) {
    for (const double per : {1.0, 2.0, 4.0}) {
      for (const double batch : {8.0, 16.0, 32.0, 64.0})
        samples.push_back({n * per, n, per, batch, law(n * per, n, batch)});
    }
  }
  const PlacementModel model = PlacementModel::fit(samples).value();
  EXPECT_NEAR(model.seconds({24, 3, 8, 48}) / law(24, 3, 48), 1, 0.05);
  EXPECT_NEAR(model.seconds({1, 1, 1, 24}) / law(1, 1, 24), 1, 0.05);
}

}  // namespace
}  // namespace orrery::lab
