#include "predict/learn/conformal.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

TEST(Conformal, RanksOfNineteenPairs) {
  // Ratios exp(1) … exp(19); n + 1 = 20, so ranks 2 and 18 bound 80 %.
  std::vector<CalibrationPair> pairs;
  for (int i = 19; i >= 1; --i) pairs.push_back({1, std::exp(i)});
  const auto model = Conformal::fit(pairs);
  ASSERT_TRUE(model);
  const Interval interval = model->interval(3, "any");
  EXPECT_NEAR(std::log(interval.low / 3), 2, 1e-9);
  EXPECT_NEAR(std::log(interval.high / 3), 18, 1e-9);
}

// Clusters are off by 0.2 (in logarithms) each in its own direction, cases within one by 0.1 more.
double coverage_of_new_clusters(bool names_clusters, int clusters) {
  constexpr int kTrials = 400, kPairs = 40;
  Random random(7);
  int inside = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<CalibrationPair> pairs;
    for (int cluster = 0; cluster <= clusters; ++cluster) {
      const double off = 0.2 * random.normal();
      for (int i = 0; i < kPairs; ++i) {
        pairs.push_back({1, std::exp(off + 0.1 * random.normal()), "", names_clusters ? std::to_string(cluster) : ""});
      }
    }
    const std::vector<CalibrationPair> fresh(pairs.end() - kPairs, pairs.end());
    pairs.resize(pairs.size() - kPairs);
    const auto model = Conformal::fit(pairs);
    for (const CalibrationPair& next : fresh) {
      const Interval interval = model->interval(next.predicted, "");
      inside += interval.low <= next.measured && next.measured <= interval.high ? 1 : 0;
    }
  }
  return inside / (1.0 * kTrials * kPairs);
}

TEST(Conformal, OfFewClustersCoversAClusterNeverSeen) {
  for (const int clusters : {4, 6, 14}) {
    EXPECT_NEAR(coverage_of_new_clusters(true, clusters), 0.8, 0.04) << clusters;
  }
  EXPECT_LT(coverage_of_new_clusters(false, 4), 0.73);
}

// Means of two ratios each differ by chance; that is no reason to widen by as much as a device that is off would.
TEST(Conformal, ClustersThatAreAlikeStretchLittle) {
  Random random(3);
  std::vector<CalibrationPair> plain, named;
  for (int i = 0; i < 60; ++i) {
    plain.push_back({1, std::exp(0.2 * random.normal())});
    named.push_back(plain.back());
    named.back().cluster = std::to_string(i / 2);
  }
  const auto width = [](const Result<Conformal>& model) {
    const Interval interval = model->interval(1, "");
    return std::log(interval.high / interval.low);
  };
  EXPECT_LT(width(Conformal::fit(named)), 1.02 * width(Conformal::fit(plain)));
}

TEST(Conformal, OneClusterSaysNothingOfAnother) {
  std::vector<CalibrationPair> plain, named;
  for (int i = 1; i <= 19; ++i) {
    plain.push_back({1, std::exp(i)});
    named.push_back({1, std::exp(i), "", "one"});
  }
  EXPECT_EQ(Conformal::fit(plain)->interval(3, "").high, Conformal::fit(named)->interval(3, "").high);
}

TEST(Conformal, CoversWhatItSays) {
  Random random(1);
  std::vector<CalibrationPair> pairs;
  const auto draw = [&](const std::string& group) {
    return CalibrationPair{1, std::exp((group == "noisy" ? 1.0 : 0.1) * random.normal()), group};
  };
  for (int i = 0; i < 2000; ++i) pairs.push_back(draw(i % 2 == 0 ? "noisy" : "quiet"));
  const auto model = Conformal::fit(pairs);
  ASSERT_TRUE(model);
  for (const std::string group : {"noisy", "quiet"}) {
    int inside = 0;
    for (int i = 0; i < 4000; ++i) {
      const CalibrationPair next = draw(group);
      const Interval interval = model->interval(next.predicted, group);
      inside += interval.low <= next.measured && next.measured <= interval.high ? 1 : 0;
    }
    EXPECT_NEAR(inside / 4000.0, 0.8, 0.03) << group;
  }
}

TEST(Conformal, ASmallGroupUsesAllPairs) {
  std::vector<CalibrationPair> pairs(100, {1, 2, "large"});
  pairs.push_back({1, 50, "small"});
  const auto model = Conformal::fit(pairs);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->interval(1, "small").high, 2, 1e-9);
}

TEST(Conformal, WhatCannotBeCalibratedIsAnError) {
  EXPECT_FALSE(Conformal::fit({}));
  EXPECT_FALSE(Conformal::fit(std::vector<CalibrationPair>{{0, 1}}));
  EXPECT_FALSE(Conformal::fit(std::vector<CalibrationPair>{{1, std::nan("")}}));
  EXPECT_FALSE(Conformal::fit(std::vector<CalibrationPair>{{1, 1}}, 1, 1.0));
}

TEST(Conformal, BytesGiveTheSameModel) {
  const auto model = Conformal::fit(std::vector<CalibrationPair>{{1, 2, "a"}, {1, 3, "a"}, {1, 9, "b"}}, 2);
  ASSERT_TRUE(model);
  ByteWriter out;
  model->write(out);
  ByteReader in(out.bytes());
  const auto again = Conformal::read(in);
  ASSERT_TRUE(again);
  for (const char* group : {"a", "b"}) EXPECT_EQ(again->interval(1, group).high, model->interval(1, group).high);
}

}  // namespace
}  // namespace orrery::predict
