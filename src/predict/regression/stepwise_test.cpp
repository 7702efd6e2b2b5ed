#include "predict/regression/stepwise.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

// y depends on x0 and x2 of six columns.
struct Sample {
  Design design;
  std::vector<double> targets;
};

Sample sample(std::uint64_t seed) {
  Random random(seed);
  Sample made;
  for (int c = 0; c < 6; ++c) {
    std::vector<double> values;
    for (int i = 0; i < 60; ++i) values.push_back(random.normal());
    made.design.add("x" + std::to_string(c), std::move(values));
  }
  for (std::size_t i = 0; i < 60; ++i) {
    made.targets.push_back(5 + 3 * made.design.column(0)[i] - 2 * made.design.column(2)[i] + 0.1 * random.normal());
  }
  return made;
}

TEST(Stepwise, FindsTheColumnsThatMatter) {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const StepwiseRule rule : {StepwiseRule::kResidual, StepwiseRule::kPartial}) {
      const Sample given = sample(seed);
      const StepwiseFit fit = stepwise(given.design, given.targets, {.rule = rule, .p_add = 0.001}).value();
      ASSERT_GE(fit.columns.size(), 2U);
      exact += fit.columns == std::vector<std::size_t>{0, 2} ? 1 : 0;
      EXPECT_NEAR(fit.fit.intercept, 5, 0.1);
      EXPECT_NEAR(fit.fit.coefficients[0], 3, 0.1);
    }
  }
  EXPECT_GE(exact, 76) << "p 0.001 lets a stray column in once in a long while";
}

TEST(Stepwise, NothingIsChosenOfNoise) {
  Random random(3);
  Design design;
  std::vector<double> targets;
  for (int c = 0; c < 3; ++c) {
    std::vector<double> values;
    for (int i = 0; i < 30; ++i) values.push_back(random.normal());
    design.add("x" + std::to_string(c), std::move(values));
  }
  for (int i = 0; i < 30; ++i) targets.push_back(random.normal());
  EXPECT_TRUE(stepwise(design, targets, {.p_add = 1e-6}).value().columns.empty());
}

TEST(Stepwise, ConstantAndRepeatedColumnsDoNoHarm) {
  Sample given = sample(1);
  given.design.add("one", std::vector<double>(60, 1.0));
  given.design.add("again", std::vector<double>(given.design.column(0).begin(), given.design.column(0).end()));
  const StepwiseFit fit = stepwise(given.design, given.targets, {.p_add = 0.001}).value();
  EXPECT_EQ(fit.columns.size(), 2U);
}

}  // namespace
}  // namespace orrery::predict
