#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "base/random.h"
#include "elastic/monitor/ema.h"
#include "elastic/monitor/gradient.h"
#include "elastic/monitor/interference.h"
#include "elastic/monitor/noise_scale.h"
#include "elastic/monitor/step_time.h"

namespace orrery::elastic {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Gradient = std::vector<float>;

// The mean gradient of `batch` samples: each is `mean` plus normal noise of deviation `deviation` per element. So
// |G|² = elements · mean², S = elements · deviation², and the noise scale is (deviation / mean)².
Gradient draw(Random& random, std::size_t elements, int batch, double mean, double deviation) {
  Gradient gradient(elements);
  for (float& element : gradient) {
    double sum = 0;
    for (int i = 0; i < batch; ++i) sum += mean + deviation * random.normal();
    element = static_cast<float>(sum / batch);
  }
  return gradient;
}

struct Step {
  std::vector<Gradient> gradients;
  std::vector<int> batches;

  double batch() const {
    double sum = 0;
    for (const int batch : batches) sum += batch;
    return sum;
  }
  Gradient mean() const {
    Gradient mean(gradients[0].size());
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += gradients[rank][i] * static_cast<float>(batches[rank] / batch());
      }
    }
    return mean;
  }
  NoiseSample sample() const {
    NoiseSample sample{.mean_square = norm_of(mean()).square, .batch = batch()};
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
      sample.local_square += norm_of(gradients[rank]).square / static_cast<double>(gradients.size());
      sample.inverse_batch += 1.0 / batches[rank] / static_cast<double>(gradients.size());
    }
    return sample;
  }
};

Step draw_step(Random& random, const std::vector<int>& batches, double mean, double deviation) {
  Step step{{}, batches};
  for (const int batch : batches) step.gradients.push_back(draw(random, 50, batch, mean, deviation));
  return step;
}

TEST(Ema, CountsTheFirstValuesInFull) {
  Ema ema{0.9};
  EXPECT_FALSE(ema.value());
  ema.add(5);
  EXPECT_DOUBLE_EQ(*ema.value(), 5);
  ema.add(8);  // (0.9 · 5 + 8) / 1.9
  EXPECT_DOUBLE_EQ(*ema.value(), 12.5 / 1.9);
  for (int i = 0; i < 1000; ++i) ema.add(3);
  EXPECT_NEAR(*ema.value(), 3, 1e-9);
}

TEST(Ema, SmallChangesAreNotWorthIt) {
  EXPECT_FALSE(is_worth_changing(100, 104, 0.05));
  EXPECT_TRUE(is_worth_changing(100, 106, 0.05));
  EXPECT_TRUE(is_worth_changing(100, 94, 0.05));
}

TEST(Gradient, NotFiniteElementsAreCountedAndNotAdded) {
  const Gradient gradient = {3, kInfinity, 4, std::nanf(""), -kInfinity};
  const GradientNorm norm = norm_of(gradient);
  EXPECT_EQ(norm.square, 25);
  EXPECT_EQ(norm.not_finite, 3);
  const GradientNorm by_rank[] = {{1, 0}, norm};
  const Status status = check_finite(by_rank);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "3 elements of the gradient of rank 1 are not finite");
  EXPECT_TRUE(check_finite(std::span(by_rank).first(1)));
}

TEST(Gradient, VarianceFromNormsIsTheSumOverElements) {
  Random random(1);
  const Step step = draw_step(random, {8, 8, 8}, 0.3, 1);
  double expected = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    double sum = 0, squares = 0;
    for (const Gradient& gradient : step.gradients) {
      sum += gradient[i];
      squares += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
    expected += squares / 3 - (sum / 3) * (sum / 3);
  }
  std::vector<GradientNorm> norms;
  for (const Gradient& gradient : step.gradients) norms.push_back(norm_of(gradient));
  EXPECT_NEAR(variance_of(norms, norm_of(step.mean()).square), expected, 1e-5 * expected);
}

TEST(Gradient, Cosine) {
  EXPECT_DOUBLE_EQ(cosine_of(Gradient{1, 0}, Gradient{5, 0}), 1);
  EXPECT_DOUBLE_EQ(cosine_of(Gradient{1, 0}, Gradient{0, 2}), 0);
  EXPECT_NEAR(cosine_of(Gradient{1, 0}, Gradient{-1, 1}), -std::sqrt(0.5), 1e-12);
  EXPECT_EQ(cosine_of(Gradient{1, 0}, Gradient{0, 0}), 0);
}

// Equal shares: |G|² = (n t - a) / (n - 1), S = b (a - t) n / (n - 1) with n = 4, b = 2, a = 10, t = 4.
TEST(NoiseScale, EqualSharesByHand) {
  const auto estimate = estimate_noise({.local_square = 10, .inverse_batch = 0.5, .mean_square = 4, .batch = 8});
  ASSERT_TRUE(estimate);
  EXPECT_DOUBLE_EQ(estimate->gradient_square, 2);
  EXPECT_DOUBLE_EQ(estimate->noise, 16);
}

TEST(NoiseScale, IsThatOfTheGradientsItIsGiven) {
  Random random(7);
  for (const std::vector<int>& batches : {std::vector{8, 8}, {4, 4, 4, 4}, {1, 3, 8}}) {
    for (const double deviation : {1.0, 4.0}) {
      NoiseScale noise{{.decay = 0.9995}, {.decay = 0.9995}};
      for (int i = 0; i < 2000; ++i) ASSERT_TRUE(noise.add(draw_step(random, batches, 0.5, deviation).sample()));
      const double expected = deviation * deviation / 0.25;
      ASSERT_TRUE(noise.value());
      EXPECT_NEAR(*noise.value(), expected, 0.06 * expected) << batches.size() << " ranks";
      EXPECT_NEAR(*noise.noise.value(), 50 * deviation * deviation, 0.03 * 50 * deviation * deviation);
      EXPECT_NEAR(*noise.gradient_square.value(), 50 * 0.25, 0.05 * 50 * 0.25);
    }
  }
}

TEST(NoiseScale, RefusesWhatCannotBeEstimated) {
  NoiseScale noise;
  const auto code = [&](const NoiseSample& sample) { return noise.add(sample).error().code(); };
  EXPECT_EQ(code({kNan, 0.5, 4, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({10, 0.5, std::numeric_limits<double>::infinity(), 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({10, 0.5, 4, 0}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({10, 0.125, 10, 8}), ErrorCode::kInfeasible);  // one rank with all samples
  EXPECT_FALSE(noise.value());
  ASSERT_TRUE(noise.add({10, 0.5, 4, 8}));
  EXPECT_DOUBLE_EQ(*noise.value(), 8);
}

TEST(NoiseScale, IsUnknownWhileNoiseHidesTheGradient) {
  NoiseScale noise;
  ASSERT_TRUE(noise.add({10, 0.5, 2, 8}));  // |G|² = (4 · 2 - 10) / 3 < 0
  EXPECT_FALSE(noise.value());
}

TEST(StepTime, WaitEndsWithTheSlowest) {
  const RankTime ranks[] = {{1, 2.5}, {3, 0.5}, {2, 0.9}};
  const std::vector<StepTime> split = split_step(ranks);
  EXPECT_DOUBLE_EQ(split[0].wait_s, 2);
  EXPECT_DOUBLE_EQ(split[0].transfer_s, 0.5);
  EXPECT_DOUBLE_EQ(split[1].wait_s, 0);
  EXPECT_DOUBLE_EQ(split[1].transfer_s, 0.5);
  // It cannot have waited longer than it communicated.
  EXPECT_DOUBLE_EQ(split[2].wait_s, 0.9);
  EXPECT_DOUBLE_EQ(split[2].transfer_s, 0);
  EXPECT_DOUBLE_EQ(straggler_index(ranks), 1.5);
  EXPECT_DOUBLE_EQ(straggler_index({}), 1);
}

TEST(Interference, IsHowMuchLongerExchangesTakeThanTheyDid) {
  Interference watch;
  std::uint64_t step = 0;
  // Computing takes 60 ms, whatever the exchange does.
  const auto exchange = [&](int steps, double seconds, double workers, double topology) {
    for (int i = 0; i < steps; ++i) watch.add(++step, seconds, seconds + 0.06, workers, topology);
  };
  exchange(5, 0.01, 4, 0);
  EXPECT_FALSE(watch.index() || watch.slowdown()) << "too early";
  exchange(30, 0.01, 4, 0);
  EXPECT_NEAR(*watch.index(), 1, 1e-9);
  EXPECT_NEAR(*watch.slowdown(), 1, 1e-9);
  exchange(60, 0.03, 4, 0);
  EXPECT_NEAR(*watch.index(), 3, 0.01);
  EXPECT_NEAR(*watch.slowdown(), 0.09 / 0.07, 0.001);
  exchange(1, 0.012, 4, 1);
  EXPECT_FALSE(watch.index() || watch.slowdown()) << "of another topology nothing is known yet";
  EXPECT_EQ(watch.topology_step, step);
  exchange(40, 0.012, 4, 1);
  EXPECT_NEAR(*watch.index(), 1.2, 0.01) << "the reference is that of before";
  EXPECT_NEAR(*watch.slowdown(), 0.072 / 0.07, 0.001);
  exchange(40, 0.05, 3, 1);
  EXPECT_NEAR(*watch.index(), 1, 1e-9) << "other workers have a time of their own";
}

}  // namespace
}  // namespace orrery::elastic
