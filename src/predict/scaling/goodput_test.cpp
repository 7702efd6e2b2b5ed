#include "predict/scaling/goodput.h"

#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

StatisticalEfficiency efficiency_of(double batch, double noise_scale) {
  return StatisticalEfficiency::make({batch, 1, noise_scale / batch}).value();
}

TEST(Goodput, EfficiencyIsWhatTheNoiseAllows) {
  // p = 100 · 6 / 2 = 300; e(100) = 1, e(500) = (300 + 100) / (300 + 500) = 0.5.
  const auto efficiency = StatisticalEfficiency::make({100, 2, 6}).value();
  EXPECT_NEAR(efficiency.noise_scale(), 300, 1e-9);
  EXPECT_NEAR(efficiency.at(100), 1, 1e-12);
  EXPECT_NEAR(efficiency.at(500), 0.5, 1e-12);
  // Without noise every example beyond the first hundred is wasted.
  EXPECT_NEAR(efficiency_of(100, 0).at(400), 0.25, 1e-12);
}

TEST(Goodput, AStepByHand) {
  const GoodputStep step{.compute = 0.02,
                         .per_example = 0.001,
                         .start_between = 0.4,
                         .per_replica_between = 0.05,
                         .start_within = 0.04,
                         .per_replica_within = 0.01,
                         .overlap = 2};
  // One GPU: nothing to exchange. A = 0.02 + 0.04 = 0.06.
  EXPECT_NEAR(step_seconds(step, {1, 1}, {40, 0}), 0.06, 1e-12);
  EXPECT_NEAR(step_seconds(step, {1, 1}, {40, 2}), 0.18, 1e-12);
  // Six GPUs of a node: N = 0.04 + 4 · 0.01 = 0.08, √(0.06² + 0.08²) = 0.1.
  EXPECT_NEAR(step_seconds(step, {1, 6}, {40, 0}), 0.1, 1e-12);
  EXPECT_NEAR(step_seconds(step, {1, 6}, {40, 3}), 0.28, 1e-12);
  // Two nodes: N = 0.4 + 8 · 0.05 = 0.8, A = 0.6 with 580 examples: 1.0.
  EXPECT_NEAR(step_seconds(step, {2, 10}, {580, 0}), 1.0, 1e-12);
  // 6 · 40 · 4 = 960 examples in 0.28 s; e(960) = (640 + 320) / (640 + 960) = 0.6.
  const Goodput found = goodput_of(step, efficiency_of(320, 640), {1, 6}, {40, 3}).value();
  EXPECT_EQ(found.batch.total({1, 6}), 960);
  EXPECT_NEAR(found.examples_per_s, 960 / 0.28, 1e-6);
  EXPECT_NEAR(found.efficiency, 0.6, 1e-12);
  EXPECT_NEAR(found.goodput, 0.6 * 960 / 0.28, 1e-6);
}

TEST(Goodput, TheBestBatchByHand) {
  // One GPU: goodput = b / (0.1 + 0.001 b) · 120 / (100 + b), 1/goodput ∝ (100/b + 1)(0.1 + 0.001 b)
  // = 10/b + 0.2 + 0.001 b, least at b = √(10/0.001) = 100.
  const GoodputStep step{.compute = 0.1, .per_example = 0.001};
  const Goodput best = best_goodput(step, efficiency_of(20, 100), {1, 1}, {1, 4096, 4096, 0}).value();
  EXPECT_EQ(best.batch.per_gpu, 100);
  EXPECT_EQ(best.batch.accumulations, 0);
}

TEST(Goodput, BoundsHold) {
  const GoodputStep step{.compute = 0.1, .per_example = 0.001};
  const auto efficiency = efficiency_of(20, 100);
  EXPECT_EQ(best_goodput(step, efficiency, {1, 1}, {1, 64, 4096, 0})->batch.per_gpu, 64) << "memory";
  EXPECT_EQ(best_goodput(step, efficiency, {1, 1}, {1, 4096, 50, 0})->batch.per_gpu, 50) << "the total";
  EXPECT_EQ(best_goodput(step, efficiency_of(300, 100), {1, 1}, {1, 4096, 4096, 0})->batch.per_gpu, 300)
      << "never below the user's own";
  // Eight at a time at most: three of them behind each other are 24.
  const Goodput accumulated = best_goodput(step, efficiency_of(24, 100), {1, 1}, {1, 8, 4096, 2}).value();
  EXPECT_EQ(accumulated.batch.per_gpu, 8);
  EXPECT_EQ(accumulated.batch.accumulations, 2);
  const auto none = best_goodput(step, efficiency_of(25, 100), {1, 1}, {1, 8, 4096, 2});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(),
            "no batch of 1 to 8 per GPU on 1 GPUs with up to 2 accumulations is between the job's own 25 and 4096");
}

TEST(Goodput, SaysWhatIsWrong) {
  EXPECT_FALSE(StatisticalEfficiency::make({0, 1, 1}));
  EXPECT_FALSE(StatisticalEfficiency::make({1, 0, 1}));
  EXPECT_FALSE(StatisticalEfficiency::make({1, 1, -1}));
  EXPECT_FALSE(StatisticalEfficiency::make({1, 1e-300, 1e300}));
  const auto efficiency = efficiency_of(1, 1);
  const GoodputStep step{.compute = 1};
  EXPECT_FALSE(goodput_of({}, efficiency, {}, {}));
  EXPECT_FALSE(goodput_of({.compute = -1}, efficiency, {}, {}));
  EXPECT_FALSE(goodput_of({.compute = 1, .overlap = 11}, efficiency, {}, {}));
  EXPECT_FALSE(goodput_of(step, efficiency, {2, 1}, {}));
  EXPECT_FALSE(goodput_of(step, efficiency, {}, {0, 0}));
  EXPECT_FALSE(goodput_of(step, efficiency, {}, {1, -1}));
  EXPECT_FALSE(best_goodput(step, efficiency, {}, {8, 4, 100, 0}));
}

struct Situation {
  GoodputStep step;
  StatisticalEfficiency efficiency;
  GoodputPlacement placement;
};

Situation any_situation(Random& random) {
  const auto seconds = [&] { return std::exp(random.uniform(-8, 0)); };
  Situation some{{.compute = seconds(),
                  .per_example = seconds() / 10,
                  .start_between = seconds(),
                  .per_replica_between = seconds() / 10,
                  .start_within = seconds() / 4,
                  .per_replica_within = seconds() / 40,
                  .overlap = random.uniform(1, 10)},
                 efficiency_of(std::floor(random.uniform(1, 64)), std::exp(random.uniform(-2, 8))),
                 {}};
  some.placement.nodes = 1 + static_cast<int>(random.below(4));
  some.placement.replicas = some.placement.nodes * (1 + static_cast<int>(random.below(4)));
  return some;
}

RC_GTEST_PROP(Goodput, TheBestBatchIsTheBestOfAll, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const Situation some = any_situation(random);
  const BatchBounds bounds{
      1 + static_cast<std::int64_t>(random.below(4)), 4 + static_cast<std::int64_t>(random.below(200)),
      64 + static_cast<std::int64_t>(random.below(4000)), static_cast<std::int64_t>(random.below(4))};
  double best = 0;
  for (std::int64_t s = 0; s <= bounds.accumulations_max; ++s) {
    for (std::int64_t b = bounds.per_gpu_min; b <= bounds.per_gpu_max; ++b) {
      const Goodput found = goodput_of(some.step, some.efficiency, some.placement, {b, s}).value();
      const auto total = static_cast<double>(found.batch.total(some.placement));
      if (total < some.efficiency.reference_batch() || total > static_cast<double>(bounds.total_max)) continue;
      best = std::max(best, found.goodput);
    }
  }
  const auto answer = best_goodput(some.step, some.efficiency, some.placement, bounds);
  RC_ASSERT(answer.has_value() == (best > 0));
  if (answer) RC_ASSERT(std::abs(answer->goodput / best - 1) < 1e-9);
}

RC_GTEST_PROP(Goodput, MovesWithWhatItIsMadeOf, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const Situation some = any_situation(random);
  const BatchSplit batch{64 + static_cast<std::int64_t>(random.below(100)), static_cast<std::int64_t>(random.below(3))};
  const auto goodput = [&](const GoodputStep& step, const StatisticalEfficiency& efficiency) {
    return goodput_of(step, efficiency, some.placement, batch)->goodput;
  };
  const double now = goodput(some.step, some.efficiency);
  // More noise makes large batches more worth having (64 per GPU are never below the user's own).
  RC_ASSERT(goodput(some.step, efficiency_of(some.efficiency.reference_batch(), some.efficiency.noise_scale() * 2)) >=
            now * (1 - 1e-12));
  // Slower parts and less overlap never help.
  GoodputStep slower = some.step;
  slower.compute *= 2;
  slower.start_within *= 2;
  slower.start_between *= 2;
  RC_ASSERT(goodput(slower, some.efficiency) <= now * (1 + 1e-12));
  GoodputStep apart = some.step;
  apart.overlap = 1;
  RC_ASSERT(goodput(apart, some.efficiency) <= now * (1 + 1e-12));
  // Efficiency falls with the batch, progress per step does not.
  const double total = static_cast<double>(batch.total(some.placement));
  RC_ASSERT(some.efficiency.at(total + 1) < some.efficiency.at(total));
  RC_ASSERT((total + 1) * some.efficiency.at(total + 1) >= total * some.efficiency.at(total) * (1 - 1e-12));
}

RC_GTEST_PROP(Goodput, WiderBoundsAreNeverWorse, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const Situation some = any_situation(random);
  const BatchBounds narrow{2, 64, 1024, 1}, wide{1, 256, 8192, 3};
  const auto inside = best_goodput(some.step, some.efficiency, some.placement, narrow);
  if (!inside) return;
  RC_ASSERT(best_goodput(some.step, some.efficiency, some.placement, wide)->goodput >= inside->goodput * (1 - 1e-9));
}

}  // namespace
}  // namespace orrery::predict
