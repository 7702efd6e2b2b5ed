#include "predict/neural/validated_training.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

// A network that only notes the learning rates it is given; its one parameter is the number of its steps.
class Noting final : public Network {
 public:
  const NetworkOptions& options() const override { return options_; }
  Result<double> learn(const NetworkBatch&, double learning_rate) override {
    rates.push_back(learning_rate);
    state_.parameters[0] += 1;
    return 1.0;
  }
  Result<double> gradients(const NetworkBatch&, std::vector<float>&) override { return 1.0; }
  Result<std::vector<float>> predict(const NetworkBatch&) const override { return std::vector<float>{}; }
  NetworkState state() const override { return state_; }
  Status set_state(const NetworkState& state) override {
    state_ = state;
    return {};
  }

  std::vector<double> rates;

 private:
  NetworkOptions options_;
  NetworkState state_{0, {0}, {0}, {0}};
};

const FillBatch kNothing = [](std::span<const std::uint32_t>, NetworkBatch&) {};

ValidatedPlan plan_of(std::uint64_t steps, std::uint64_t patience) {
  return {.plan = {.steps = steps, .batch = 1, .learning_rate = 1}, .patience = patience, .check_every = 10};
}

// The error falls to 0.5 at step 40 and rises again: at 60 nothing was gained for 20 steps, at 80 all is over.
TEST(ValidatedTraining, EndsWhereNothingIsGainedAndKeepsTheBest) {
  Noting network;
  const auto error = [&]() -> Result<double> {
    const double steps = network.state().parameters[0];
    return 0.5 + std::abs(steps - 40) / 100;
  };
  const ValidatedOutcome outcome = train_validated(network, 3, kNothing, plan_of(1000, 20), error, {}).value();
  EXPECT_TRUE(outcome.has_settled);
  EXPECT_EQ(outcome.training.steps, 80U);
  EXPECT_NEAR(outcome.error, 0.5, 1e-12);
  EXPECT_EQ(network.state().parameters[0], 40);
  ASSERT_EQ(network.rates.size(), 80U);
  EXPECT_EQ(network.rates[59], 1);
  EXPECT_EQ(network.rates[60], 1);
  EXPECT_NEAR(network.rates[79], 1.0 / 20, 1e-12);
}

TEST(ValidatedTraining, SaysWhenItHadNoTimeToSettle) {
  Noting network;
  const auto error = [&]() -> Result<double> { return 1 / (1.0 + network.state().parameters[0]); };
  const ValidatedOutcome outcome = train_validated(network, 3, kNothing, plan_of(100, 20), error, {}).value();
  EXPECT_FALSE(outcome.has_settled);
  EXPECT_EQ(outcome.training.steps, 100U);
}

TEST(ValidatedTraining, WarmsUpAndFallsOverAllStepsWithoutPatience) {
  Noting network;
  ValidatedPlan plan = plan_of(100, 0);
  plan.plan.warm_up = 10;
  EXPECT_TRUE(train_validated(network, 3, kNothing, plan, {}, {}).value().has_settled);
  ASSERT_EQ(network.rates.size(), 100U);
  EXPECT_NEAR(network.rates[4], 0.5 * 0.96, 1e-12);
  EXPECT_NEAR(network.rates[10], 0.9, 1e-12);
  EXPECT_NEAR(network.rates[99], 0.01, 1e-12);
}

TEST(ValidatedTraining, PassesOnErrorsAndRefusesACheckpoint) {
  Noting network;
  const auto broken = []() -> Result<double> { return Error::internal("broken"); };
  EXPECT_FALSE(train_validated(network, 3, kNothing, plan_of(1000, 20), broken, {}).has_value());
  EXPECT_LT(network.rates.size(), 100U);
  const auto fine = []() -> Result<double> { return 1.0; };
  EXPECT_FALSE(train_validated(network, 3, kNothing, plan_of(10, 0), fine, {.checkpoint = "file"}).has_value())
      << "which parameters were the best so far is not in a checkpoint";
}

}  // namespace
}  // namespace orrery::predict
