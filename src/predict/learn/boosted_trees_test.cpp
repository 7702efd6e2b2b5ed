#include "predict/learn/boosted_trees.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

BoostOptions exact_options() {
  BoostOptions options;
  options.row_share = options.column_share = options.learning_rate = 1;
  options.l2 = 0;
  options.min_rows = 1;
  return options;
}

struct Sample {
  Features features{{"a", "b", "c"}};
  std::vector<double> targets;
};

Sample random_sample(std::uint64_t seed, std::size_t rows) {
  Random random(seed);
  Sample sample;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto a = static_cast<float>(random.uniform());
    const auto b = static_cast<float>(random.below(5));
    const auto c = static_cast<float>(random.normal());
    sample.features.add(std::vector<float>{a, b, c});
    sample.targets.push_back(3 * static_cast<double>(a) + static_cast<double>(b * b) * 0.2 + 0.1 * random.normal());
  }
  return sample;
}

double squared_error(const std::vector<double>& predicted, const std::vector<double>& targets) {
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) sum += std::pow(predicted[i] - targets[i], 2);
  return sum;
}

// The smallest squared error of one split with the mean on each side, by trying every column and value.
double best_stump_error(const Sample& sample) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t column = 0; column < 3; ++column) {
    for (std::size_t at = 0; at < sample.features.rows(); ++at) {
      const float threshold = sample.features.row(at)[column];
      double sum[2] = {0, 0}, squares[2] = {0, 0}, count[2] = {0, 0};
      for (std::size_t i = 0; i < sample.features.rows(); ++i) {
        const int side = sample.features.row(i)[column] > threshold ? 1 : 0;
        sum[side] += sample.targets[i];
        squares[side] += sample.targets[i] * sample.targets[i];
        count[side] += 1;
      }
      if (count[1] == 0) continue;
      best = std::min(best, squares[0] - sum[0] * sum[0] / count[0] + squares[1] - sum[1] * sum[1] / count[1]);
    }
  }
  return best;
}

TEST(BoostedTrees, OneSplitIsTheBestOfAllSplits) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Sample sample = random_sample(seed, 40);
    BoostOptions options = exact_options();
    options.trees = 1;
    options.leaves = 2;
    const auto model = BoostedTrees::fit(sample.features, sample.targets, {}, options);
    ASSERT_TRUE(model);
    EXPECT_NEAR(squared_error(predict_rows(*model, sample.features), sample.targets), best_stump_error(sample), 1e-4);
  }
}

TEST(BoostedTrees, AFullTreeRepeatsDistinctRows) {
  const Sample sample = random_sample(3, 60);
  BoostOptions options = exact_options();
  options.trees = 1;
  options.leaves = 60;
  const auto model = BoostedTrees::fit(sample.features, sample.targets, {}, options);
  ASSERT_TRUE(model);
  EXPECT_NEAR(squared_error(predict_rows(*model, sample.features), sample.targets), 0, 1e-8);
}

TEST(BoostedTrees, LearnsASmoothFunction) {
  const Sample train = random_sample(5, 4000);
  const Sample test = random_sample(6, 1000);
  const auto model = BoostedTrees::fit(train.features, train.targets, {}, {});
  ASSERT_TRUE(model);
  const double error = squared_error(predict_rows(*model, test.features), test.targets) / 1000;
  EXPECT_LT(error, 0.016);  // the noise alone is 0.01
}

TEST(BoostedTrees, TheNumberOfThreadsChangesNothing) {
  const Sample sample = random_sample(7, 40'000);
  BoostOptions options;
  options.trees = 10;
  std::vector<std::string> bytes;
  for (const int threads : {1, 2, 5}) {
    options.threads = threads;
    const auto model = BoostedTrees::fit(sample.features, sample.targets, {}, options);
    ASSERT_TRUE(model);
    ByteWriter out;
    model->write(out);
    bytes.push_back(out.bytes());
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_EQ(bytes[0], bytes[2]);
}

TEST(BoostedTrees, WeightsAreRepetitions) {
  Sample once = random_sample(8, 30);
  std::vector<double> weights;
  Sample repeated;
  for (std::size_t i = 0; i < 30; ++i) {
    weights.push_back(static_cast<double>(1 + i % 3));
    for (std::size_t copy = 0; copy <= i % 3; ++copy) {
      repeated.features.add(once.features.row(i));
      repeated.targets.push_back(once.targets[i]);
    }
  }
  BoostOptions options = exact_options();
  options.trees = 5;
  options.leaves = 4;
  const auto weighted = BoostedTrees::fit(once.features, once.targets, weights, options);
  const auto plain = BoostedTrees::fit(repeated.features, repeated.targets, {}, options);
  ASSERT_TRUE(weighted && plain);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_NEAR(weighted->predict(once.features.row(i)), plain->predict(once.features.row(i)), 1e-5);
  }
}

TEST(BoostedTrees, NanIsAValueOfItsOwn) {
  Features features({"x"});
  std::vector<double> targets;
  for (int i = 0; i < 100; ++i) {
    features.add(std::vector<float>{i % 2 == 0 ? kNan : static_cast<float>(i % 7)});
    targets.push_back(i % 2 == 0 ? 10 : 1);
  }
  BoostOptions options = exact_options();
  options.trees = 1;
  options.leaves = 2;
  const auto model = BoostedTrees::fit(features, targets, {}, options);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->predict(std::vector<float>{kNan}), 10, 1e-5);
  EXPECT_NEAR(model->predict(std::vector<float>{-100}), 1, 1e-5);
}

RC_GTEST_PROP(BoostedTrees, MonotoneColumnsAreMonotone, (std::uint64_t seed)) {
  Random random(seed);
  Features features({"up", "down", "free"});
  std::vector<double> targets;
  for (int i = 0; i < 300; ++i) {
    std::vector<float> row(3);
    for (float& value : row) value = static_cast<float>(random.uniform());
    features.add(row);
    // Against what is demanded of both columns.
    targets.push_back(std::sin(9 * row[0]) + std::cos(7 * row[1]) + row[2] + 0.3 * random.normal());
  }
  BoostOptions options;
  options.trees = 20;
  options.min_rows = 3;
  options.monotone = {1, -1, 0};
  const auto model = BoostedTrees::fit(features, targets, {}, options);
  RC_ASSERT(model.has_value());
  for (int i = 0; i < 20; ++i) {
    std::vector<float> row(3);
    for (float& value : row) value = static_cast<float>(random.uniform());
    for (const std::size_t column : {0U, 1U}) {
      std::vector<float> more = row;
      more[column] += static_cast<float>(random.uniform());
      const double change = model->predict(more) - model->predict(row);
      RC_ASSERT((column == 0 ? change >= -1e-6 : change <= 1e-6));
    }
  }
}

TEST(BoostedTrees, AnObjectiveOfAbsoluteErrorFindsTheMedian) {
  Features features({"x"});
  const std::vector<double> targets = {1, 1, 1, 1, 1, 1, 100};
  for (std::size_t i = 0; i < targets.size(); ++i) features.add(std::vector<float>{0});
  const Objective absolute = [&](std::span<const double> predicted, std::span<double> gradient,
                                 std::span<double> hessian) {
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      gradient[i] = predicted[i] > targets[i] ? 1 : -1;
      hessian[i] = 1;
    }
  };
  BoostOptions options = exact_options();
  options.learning_rate = 0.05;
  const auto model = BoostedTrees::fit(features, absolute, 0, options);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->predict(std::vector<float>{0}), 1, 0.06);
}

TEST(BoostedTrees, WhatCannotBeLearntIsAnError) {
  Features features({"x"});
  EXPECT_FALSE(BoostedTrees::fit(features, std::vector<double>{}, {}, {}));
  features.add(std::vector<float>{1});
  features.add(std::vector<float>{2});
  EXPECT_FALSE(BoostedTrees::fit(features, std::vector<double>{1}, {}, {}));
  EXPECT_FALSE(BoostedTrees::fit(features, std::vector<double>{1, std::nan("")}, {}, {}));
  EXPECT_FALSE(BoostedTrees::fit(features, std::vector<double>{1, 2}, std::vector<double>{1, -1}, {}));
  EXPECT_FALSE(BoostedTrees::fit(features, std::vector<double>{1, 2}, std::vector<double>{0, 0}, {}));
  BoostOptions wrong;
  wrong.monotone = {1, 1};
  EXPECT_FALSE(BoostedTrees::fit(features, std::vector<double>{1, 2}, {}, wrong));
}

TEST(BoostedTrees, ConstantColumnsGiveTheMean) {
  Features features({"x"});
  for (int i = 0; i < 50; ++i) features.add(std::vector<float>{4});
  std::vector<double> targets(50, 2);
  targets[0] = 4;
  const auto model = BoostedTrees::fit(features, targets, {}, {});
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->predict(std::vector<float>{4}), 2.04, 0.02);
}

TEST(BoostedTrees, BytesGiveTheSameModelAndDamageIsAnError) {
  const Sample sample = random_sample(9, 200);
  BoostOptions options;
  options.trees = 5;
  options.min_rows = 5;
  const auto model = BoostedTrees::fit(sample.features, sample.targets, {}, options);
  ASSERT_TRUE(model);
  ByteWriter out;
  model->write(out);
  ByteReader in(out.bytes());
  const auto again = BoostedTrees::read(in);
  ASSERT_TRUE(again);
  EXPECT_EQ(predict_rows(*model, sample.features), predict_rows(*again, sample.features));
  for (std::size_t cut = 0; cut < out.bytes().size(); cut += 7) {
    ByteReader short_in(std::string_view(out.bytes()).substr(0, cut));
    EXPECT_FALSE(BoostedTrees::read(short_in));
  }
  for (std::size_t at = 0; at < out.bytes().size(); ++at) {  // no damage may hang or crash
    std::string damaged = out.bytes();
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    ByteReader damaged_in(damaged);
    const auto read = BoostedTrees::read(damaged_in);
    if (read && read->columns() == 3) read->predict(sample.features.row(0));
  }
}

}  // namespace
}  // namespace orrery::predict
