#include "plan/choice.h"

#include <gtest/gtest.h>

#include "predict/analytic/analytic.h"
#include "workload/zoo/zoo.h"

namespace orrery::plan {
namespace {

using predict::Estimate;
using predict::Prediction;

TEST(ChoiceTest, IntervalsAreReadAsLogNormal) {
  const Estimate<double> ten{10, 5, 40};
  EXPECT_DOUBLE_EQ(chance_within(ten, 10), 0.5);
  EXPECT_NEAR(chance_within(ten, 40), 0.9, 1e-12);
  EXPECT_NEAR(chance_within(ten, 5), 0.1, 1e-12);
  EXPECT_NEAR(chance_within(ten, 20), 0.7391658, 1e-6);  // Φ(1.2815516 / 2)
  EXPECT_EQ(chance_within({10, 10, 10}, 9.9), 0);
  EXPECT_EQ(chance_within({10, 10, 10}, 10), 1);
  EXPECT_EQ(chance_within(ten, 0), 0);
}

// Four configurations of 10, 20, 20 and 30 hours; the last does not fit.
class JudgedTest : public testing::Test {
 protected:
  JudgedTest() {
    const double hours_of[] = {10, 20, 20, 30}, usd[] = {40, 50, 30, 10};
    for (int i = 0; i < 4; ++i) {
      const Seconds time = hours(hours_of[i]);
      predictions_[i].fits = i != 3;
      predictions_[i].memory.value = gibibytes(20 + i);
      predictions_[i].device_memory = gibibytes(16);
      offers_[i].provider = "p";
      offers_[i].instance = "i" + std::to_string(i);
      Choice choice{.offer = &offers_[i], .prediction = &predictions_[i]};
      choice.time = {time, time * 0.5, time * 2};
      choice.cost = {Dollars(usd[i]), Dollars(usd[i] / 2), Dollars(usd[i] * 2)};
      choice.verdict = i == 3 ? Verdict::kDoesNotFit : Verdict::kOnFront;
      choices_.push_back(choice);
    }
  }
  std::array<Prediction, 4> predictions_;
  std::array<hardware::Offer, 4> offers_;
  std::vector<Choice> choices_;
};

TEST_F(JudgedTest, ChoosesTheCheapestOrTheFastest) {
  EXPECT_EQ(choose(choices_, Goal::kCost)->offer->instance, "i2");
  choices_[2].verdict = Verdict::kOnFront;
  EXPECT_EQ(choose(choices_, Goal::kTime)->offer->instance, "i0");
}

TEST_F(JudgedTest, SaysWhatIsNearestWhenNothingWillDo) {
  Limits limits{.deadline = hours(5), .budget = Dollars(35)};
  for (Choice& choice : choices_)
    if (choice.prediction->fits) choice.verdict = Verdict::kMissesDeadline;
  const auto near = nearest(choices_, limits);
  // The fastest within the budget; none is in time, so also the cheapest of all that run, which is the same.
  ASSERT_EQ(near.size(), 1U);
  EXPECT_EQ(near[0]->offer->instance, "i2");
  EXPECT_EQ(reason(*near[0], limits), "misses the deadline by 15.0 h");
  limits.budget = Dollars(1);
  EXPECT_EQ(nearest(choices_, limits).size(), 2U);
  choices_.erase(choices_.begin(), choices_.begin() + 3);
  const auto large = nearest(choices_, limits);
  ASSERT_EQ(large.size(), 1U);
  EXPECT_EQ(reason(*large[0], limits), "does not fit: needs 23.0 GiB, has 16.0 GiB");
}

// Offers of synthetic prices for real devices.
class ChoicesTest : public testing::Test {
 protected:
  static hardware::Offer offer(const char* device, int count, double usd_h, std::optional<double> spot = {}) {
    hardware::Offer one;
    one.provider = "acme";
    one.instance = device + std::to_string(count);
    one.device = device;
    one.device_count = count;
    one.price = DollarsPerHour(usd_h);
    if (spot) one.spot = DollarsPerHour(*spot);
    return one;
  }
  Choices made(const ChoiceSpace& space, double samples) {
    spec_.samples = samples;
    spec_.precision = Precision::kFp32;
    Choices choices(graph_, spec_, space, predictor_);
    choices.add(offers_);
    return choices;
  }
  workload::TrainingGraph graph_ = workload::build_model("resnet18").value();
  predict::RunSpec spec_;
  predict::AnalyticPredictor predictor_;
  std::vector<hardware::Offer> offers_ = {offer("V100", 1, 3, 1), offer("V100", 1, 2.5), offer("T4", 1, 0.5),
                                          offer("V100", 4, 10), offer("", 1, 1)};
};

TEST_F(ChoicesTest, EveryConfigurationIsJudgedAndTheFrontIsTheParetoFront) {
  const ChoiceSpace space{.machines = {1, 2}, .replica_batches = {16, 64}};
  Choices choices = made(space, 1e6);
  EXPECT_EQ(choices.left_out().unknown_device, 2U);
  ASSERT_TRUE(choices.judge({}, true));
  EXPECT_EQ(choices.all().size(), 16U);
  EXPECT_EQ(choices.predictions(), 12U);
  for (const Choice& a : choices.all()) {
    bool beaten = false;
    for (const Choice& b : choices.all()) {
      const bool no_worse = b.time.value <= a.time.value && b.cost.value <= a.cost.value;
      beaten = beaten || (no_worse && (b.time.value < a.time.value || b.cost.value < a.cost.value));
    }
    EXPECT_EQ(a.on_front(), !beaten) << a.label();
    EXPECT_NEAR(a.cost.value.value(), a.price.value() * a.time.value.value() / 3600, 1e-9);
    if (a.verdict == Verdict::kSameForLess) {
      EXPECT_LT(a.better->cost.value, a.cost.value);
    }
  }
}

TEST_F(ChoicesTest, WhatIsNotPredictedWouldNotHaveWon) {
  const ChoiceSpace space{.machines = {1, 2, 4, 8}, .replica_batches = {8, 32}, .spot = true};
  for (const Limits& limits :
       {Limits{}, Limits{.deadline = hours(3), .certainty = 0.9}, Limits{.budget = Dollars(9)}}) {
    Choices thorough = made(space, 1e7), quick = made(space, 1e7);
    ASSERT_TRUE(thorough.judge(limits, true));
    ASSERT_TRUE(quick.judge(limits, false));
    EXPECT_EQ(quick.all().size(), thorough.all().size());
    std::vector<std::string> expected, found;
    for (const Choice& configuration : thorough.all())
      if (configuration.on_front())
        expected.push_back(fmt::format("{} {}", configuration.place(), configuration.batch));
    for (const Choice& configuration : quick.all())
      if (configuration.on_front()) found.push_back(fmt::format("{} {}", configuration.place(), configuration.batch));
    EXPECT_EQ(found, expected);
  }
}

TEST_F(ChoicesTest, SpotConfigurationsTakeLongerAndSayWhy) {
  ChoiceSpace space{.replica_batches = {32}, .spot = true};
  space.rules.interruptions_per_h = 0.5;
  Choices choices = made(space, 1e8);
  ASSERT_TRUE(choices.judge({}, true));
  ASSERT_EQ(choices.all().size(), 5U);
  for (const Choice& choice : choices.all()) {
    if (!choice.is_spot) continue;
    EXPECT_GT(choice.interruptions, 0);
    EXPECT_NEAR(choice.time.value.value(), choice.prediction->total_time.value.value() + choice.lost.value(), 1e-6);
  }
}

TEST_F(ChoicesTest, TheOrderOfOffersChangesNothing) {
  const ChoiceSpace space{.replica_batches = {32}};
  Choices one = made(space, 1e6);
  ASSERT_TRUE(one.judge({}, true));
  const std::string chosen = choose(one.all(), Goal::kCost)->place();
  std::reverse(offers_.begin(), offers_.end());
  Choices other = made(space, 1e6);
  ASSERT_TRUE(other.judge({}, true));
  EXPECT_EQ(choose(other.all(), Goal::kCost)->place(), chosen);
}

}  // namespace
}  // namespace orrery::plan
