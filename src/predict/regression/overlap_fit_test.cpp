#include "predict/regression/overlap_fit.h"

#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

// 5 s of start, then per iteration 2 ms + 0.5 ms per image of computing beside 8 ms per image and thread of loading.
double law(double iterations, double batch, double threads, double sharpness) {
  const double compute = iterations * (0.002 + 0.0005 * batch), load = iterations * 0.008 * batch / threads;
  return 5 + std::pow(std::pow(compute, sharpness) + std::pow(load, sharpness), 1 / sharpness);
}

OverlapRow row_of(double iterations, double batch, double threads) {
  return {{1}, {iterations, iterations * batch}, {iterations * batch / threads}};
}

struct Runs {
  std::vector<OverlapRow> rows;
  std::vector<double> seconds;
};

Runs runs_of(double sharpness) {
  Runs runs;
  for (const double batch : {8.0, 16.0, 32.0, 64.0}) {
    for (const double threads : {2.0, 4.0, 8.0, 16.0, 32.0}) {
      for (const double epochs : {1.0, 3.0}) {
        const double iterations = epochs * 100000 / batch;
        runs.rows.push_back(row_of(iterations, batch, threads));
        runs.seconds.push_back(law(iterations, batch, threads, sharpness));
      }
    }
  }
  return runs;
}

TEST(OverlapFit, OneAfterTheOtherIsALinearFit) {
  const Runs runs = runs_of(1);
  const OverlapFit fit = OverlapFit::fit(runs.rows, runs.seconds, {}, 1).value();
  ASSERT_EQ(fit.coefficients().size(), 4U);
  EXPECT_NEAR(fit.coefficients()[0], 5, 1e-6);
  EXPECT_NEAR(fit.coefficients()[1], 0.002, 1e-9);
  EXPECT_NEAR(fit.coefficients()[2], 0.0005, 1e-9);
  EXPECT_NEAR(fit.coefficients()[3], 0.008, 1e-9);
}

TEST(OverlapFit, FindsWorkThatHidesBehindOther) {
  const Runs runs = runs_of(4);
  const OverlapFit overlapped = OverlapFit::fit(runs.rows, runs.seconds, {}, 4).value();
  const OverlapFit summed = OverlapFit::fit(runs.rows, runs.seconds, {}, 1).value();
  const double truth = law(400, 256, 4, 4);
  EXPECT_NEAR(overlapped.seconds(row_of(400, 256, 4)) / truth, 1, 0.02);
  EXPECT_LT(std::abs(overlapped.seconds(row_of(400, 256, 4)) - truth),
            std::abs(summed.seconds(row_of(400, 256, 4)) - truth));
}

TEST(OverlapFit, WeightsDecideWhichRowsCount) {
  const std::vector<OverlapRow> rows = {{{}, {1}, {}}, {{}, {1}, {}}};
  const std::vector<double> seconds = {1, 2};
  const std::vector<double> first = {1, 0};
  EXPECT_NEAR(OverlapFit::fit(rows, seconds, first, 1)->seconds(rows[0]), 1, 1e-9);
  // Relative: min (t − 1)² + (t/2 − 1)² is at t = 1.2.
  EXPECT_NEAR(OverlapFit::fit(rows, seconds, {}, 1)->seconds(rows[0]), 1.2, 1e-9);
}

TEST(OverlapFit, SaysWhatIsWrong) {
  const std::vector<OverlapRow> rows = {{{1}, {1}, {1}}, {{1}, {2}, {1}}};
  const std::vector<double> seconds = {1, 2};
  EXPECT_FALSE(OverlapFit::fit({}, {}, {}, 1));
  EXPECT_FALSE(OverlapFit::fit(rows, std::vector<double>{1}, {}, 1));
  EXPECT_FALSE(OverlapFit::fit(rows, std::vector<double>{1, 0}, {}, 1));
  EXPECT_FALSE(OverlapFit::fit(rows, seconds, {}, 0.5));
  EXPECT_FALSE(OverlapFit::fit(rows, seconds, std::vector<double>{1}, 1));
  EXPECT_FALSE(OverlapFit::fit(std::vector<OverlapRow>{{{1}, {1}, {}}, {{1}, {2}, {1}}}, seconds, {}, 1));
  EXPECT_FALSE(OverlapFit::fit(std::vector<OverlapRow>{{{1}, {-1}, {}}, {{1}, {2}, {}}}, seconds, {}, 1));
}

RC_GTEST_PROP(OverlapFit, MoreWorkNeverTakesLess, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const double sharpness = *rc::gen::element(1.0, 2.0, 4.0);
  const auto any_row = [&] {
    return OverlapRow{{1}, {random.uniform(0, 9), random.uniform(0, 9)}, {random.uniform(0, 9)}};
  };
  std::vector<OverlapRow> rows;
  std::vector<double> seconds;
  for (int i = 0; i < 12; ++i) {
    rows.push_back(any_row());
    seconds.push_back(std::exp(random.uniform(-3, 3)));
  }
  const OverlapFit fit = OverlapFit::fit(rows, seconds, {}, sharpness).value();
  for (int i = 0; i < 20; ++i) {
    const OverlapRow less = any_row();
    OverlapRow more = less;
    more.compute[0] += random.uniform(0, 5);
    more.load[0] += random.uniform(0, 5);
    RC_ASSERT(fit.seconds(less) >= 0);
    RC_ASSERT(fit.seconds(more) >= fit.seconds(less) * (1 - 1e-12));
  }
}

}  // namespace
}  // namespace orrery::predict
