#include "lab/methods/profile_transfer.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "base/random.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

// On the other machine convolutions take half as long and everything else twice.
struct Steps {
  std::vector<StepProfile> profiles;
  std::vector<double> target_us;
};

Steps make_steps(std::uint64_t seed, const char* elementwise) {
  Random random(seed);
  Steps steps;
  for (int i = 0; i < 300; ++i) {
    const double convolution = std::exp(random.uniform(4, 10));
    const double other = std::exp(random.uniform(4, 10));
    StepProfile profile{.model = "m", .batch = 16, .pixels = 32, .step_us = convolution + other, .device_us = {}};
    profile.device_us = {{"Conv2D", 3 * convolution}, {elementwise, 3 * other}};  // three steps were profiled
    steps.profiles.push_back(profile);
    steps.target_us.push_back(0.5 * convolution + 2 * other);
  }
  return steps;
}

TEST(ProfileTransfer, PartsSumToTheStep) {
  const Steps steps = make_steps(1, "Relu");
  const std::vector<float> parts = profile_parts(steps.profiles[0]);
  EXPECT_EQ(parts.size(), profile_part_names().size());
  EXPECT_NEAR(std::accumulate(parts.begin(), parts.end(), 0.0) / steps.profiles[0].step_us, 1, 1e-5);
}

TEST(ProfileTransfer, FindsTheSpeedRatioOfEachGroup) {
  const Steps train = make_steps(1, "Relu");
  std::vector<const StepProfile*> profiles;
  for (const StepProfile& profile : train.profiles) profiles.push_back(&profile);
  const auto model = ProfileTransfer::fit(profiles, train.target_us, profile_boost_options(1, 1));
  ASSERT_TRUE(model);
  // An operator that was never profiled counts as element-wise.
  const Steps test = make_steps(2, "SomeNewOperator");
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_NEAR(model->predict_us(test.profiles[i]) / test.target_us[i], 1, 0.1);
  }
}

TEST(ProfileTransfer, TimesMustBePositive) {
  const StepProfile profile{.step_us = 1, .device_us = {}};
  const StepProfile* profiles[] = {&profile};
  EXPECT_FALSE(ProfileTransfer::fit(profiles, std::vector<double>{0}, {}));
  EXPECT_FALSE(ProfileTransfer::fit(profiles, std::vector<double>{}, {}));
}

}  // namespace
}  // namespace orrery::lab
