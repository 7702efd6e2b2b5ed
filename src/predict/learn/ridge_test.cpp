#include "predict/learn/ridge.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

TEST(Ridge, OneColumnInClosedForm) {
  // x = 1, 2, 3, 4; y = 2, 4, 5, 9. Slope = cov / var = (11 / 4) / (5 / 4) = 2.2; with l2 on the standardised column
  // it shrinks by 1 / (1 + l2).
  Features features({"x"});
  for (const float x : {1.0F, 2.0F, 3.0F, 4.0F}) features.add(std::vector<float>{x});
  const std::vector<double> targets = {2, 4, 5, 9};
  const auto plain = Ridge::fit(features, targets, {}, {.l2 = 0});
  ASSERT_TRUE(plain);
  EXPECT_NEAR(plain->coefficients()[0], 2.2, 1e-9);
  EXPECT_NEAR(plain->intercept(), 5 - 2.2 * 2.5, 1e-9);
  const auto shrunk = Ridge::fit(features, targets, {}, {.l2 = 0.1});
  ASSERT_TRUE(shrunk);
  EXPECT_NEAR(shrunk->coefficients()[0], 2.0, 1e-9);
}

TEST(Ridge, WeightsAreRepetitions) {
  Features features({"x"});
  Features repeated({"x"});
  for (const float x : {1.0F, 2.0F, 5.0F}) features.add(std::vector<float>{x});
  for (const float x : {1.0F, 2.0F, 2.0F, 2.0F, 5.0F}) repeated.add(std::vector<float>{x});
  const auto weighted = Ridge::fit(features, std::vector<double>{1, 5, 2}, std::vector<double>{1, 3, 1});
  const auto plain = Ridge::fit(repeated, std::vector<double>{1, 5, 5, 5, 2}, {});
  ASSERT_TRUE(weighted && plain);
  EXPECT_NEAR(weighted->coefficients()[0], plain->coefficients()[0], 1e-9);
  EXPECT_NEAR(weighted->intercept(), plain->intercept(), 1e-9);
}

TEST(Ridge, FindsAPlaneAndLeavesConstantColumnsOut) {
  Random random(3);
  Features features({"a", "constant", "b"});
  std::vector<double> targets;
  for (int i = 0; i < 100; ++i) {
    const auto a = static_cast<float>(random.normal());
    const auto b = static_cast<float>(1000 * random.normal());
    features.add(std::vector<float>{a, 7, b});
    targets.push_back(1 + 2 * static_cast<double>(a) - 0.003 * static_cast<double>(b));
  }
  const auto model = Ridge::fit(features, targets, {}, {.l2 = 1e-12});
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->coefficients()[0], 2, 1e-6);
  EXPECT_EQ(model->coefficients()[1], 0);
  EXPECT_NEAR(model->coefficients()[2], -0.003, 1e-9);
  const auto positive = Ridge::fit(features, targets, {}, {.l2 = 1e-12, .non_negative = true});
  ASSERT_TRUE(positive);
  EXPECT_GT(positive->coefficients()[0], 0);
  EXPECT_EQ(positive->coefficients()[2], 0);
}

TEST(Ridge, WhatCannotBeLearntIsAnError) {
  Features features({"x"});
  EXPECT_FALSE(Ridge::fit(features, std::vector<double>{}, {}));
  features.add(std::vector<float>{1});
  EXPECT_FALSE(Ridge::fit(features, std::vector<double>{std::nan("")}, {}));
  EXPECT_FALSE(Ridge::fit(features, std::vector<double>{1, 2}, {}));
  EXPECT_TRUE(Ridge::fit(features, std::vector<double>{1}, {}));
  features.add(std::vector<float>{std::nanf("")});
  EXPECT_FALSE(Ridge::fit(features, std::vector<double>{1, 2}, {}));
}

TEST(Ridge, BytesGiveTheSameModel) {
  Features features({"x"});
  for (const float x : {1.0F, 2.0F, 5.0F}) features.add(std::vector<float>{x});
  const auto model = Ridge::fit(features, std::vector<double>{1, 5, 2}, {});
  ASSERT_TRUE(model);
  ByteWriter out;
  model->write(out);
  ByteReader in(out.bytes());
  const auto again = Ridge::read(in);
  ASSERT_TRUE(again);
  EXPECT_EQ(predict_rows(*again, features), predict_rows(*model, features));
}

}  // namespace
}  // namespace orrery::predict
