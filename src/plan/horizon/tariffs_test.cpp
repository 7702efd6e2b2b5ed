#include "plan/horizon/tariffs.h"

#include <gtest/gtest.h>

#include "hardware/device.h"
#include "plan/horizon/modes.h"

namespace orrery::plan::horizon {
namespace {

std::vector<double> day() {
  std::vector<double> hours;
  for (int h = 0; h < 24; ++h) hours.push_back(h);
  return hours;
}

TEST(TariffsTest, APeriodPaysTheMeanOfItsHours) {
  EXPECT_DOUBLE_EQ(mean_price({7}, 3, 0, 99), 7);
  EXPECT_DOUBLE_EQ(mean_price(day(), 0, 0, 3600), 0);
  EXPECT_DOUBLE_EQ(mean_price(day(), 22, 3600, 3 * 3600), (23 + 0) / 2.0);
  // From 1:30 to 3:00: half an hour at 1, an hour at 2.
  EXPECT_NEAR(mean_price(day(), 1.5, 0, 5400), (0.5 * 1 + 2) / 1.5, 1e-9);
  EXPECT_NEAR(mean_price(day(), 0, 0, 86400 * 3), 11.5, 1e-9);
}

TEST(TariffsTest, EnergyIsWattsTimesHours) {
  const double watts = hardware::find_device("V100").value()->tdp.value();
  const std::vector<VmType> types = {{"v", "V100", 4, 8}};
  const EnergyFacts facts{.usd_per_kwh = {0.2}, .gco2_per_kwh = {500}, .usd_per_tco2 = 50, .overhead = 1.5};
  const auto energy = cost_tariff(CostBasis::kEnergy, types, {2, 1800}, facts);
  ASSERT_TRUE(energy);
  EXPECT_NEAR(energy->machine[1], 4 * watts * 1.5 * 0.25 / 1000 * 0.5 * 0.2, 1e-12);
  // A machine at work for an hour draws its whole TDP, and what is around it.
  EXPECT_NEAR(2 * energy->machine[0] + 4 * 3600 * energy->busy_gpu_s[0], 4 * watts * 1.5 / 1000 * 0.2, 1e-9);
  const auto carbon = cost_tariff(CostBasis::kCarbon, types, {2, 1800}, facts);
  const auto kg = carbon_tariff(types, {2, 1800}, facts);
  ASSERT_TRUE(carbon && kg);
  EXPECT_NEAR(carbon->machine[0], kg->machine[0] / 1000 * 50, 1e-12);
  EXPECT_NEAR(kg->machine[0], energy->machine[0] / 0.2 * 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(rent_tariff(types, {2, 1800}).machine[1], 4);
  EXPECT_FALSE(cost_tariff(CostBasis::kEnergy, {{"x", "unknown", 1, 1}}, {1, 1}, facts));
}

TEST(ModesTest, TakesWhatTypesHaveAtTheCertaintyAskedFor) {
  const std::vector<VmType> types = {{"one", "A", 1, 1}, {"four", "A", 4, 3}, {"b", "B", 4, 3}};
  const std::vector<PredictedConfiguration> configurations = {{"A", 1, 1, {100, 90, 120}},
                                                              {"A", 2, 1, {60, 50, 80}},
                                                              {"A", 3, 1, {70, 60, 90}},  // slower than two
                                                              {"A", 4, 2, {20, 18, 25}}};
  const std::vector<Mode> modes = modes_of(configurations, types, 2, 0.9);
  ASSERT_EQ(modes.size(), 4U);
  EXPECT_NEAR(modes[0].time_s, 120, 1e-6);
  EXPECT_EQ(modes[2].gpus, 2);
  EXPECT_EQ(modes[3].machines, 2);
  EXPECT_EQ(modes_of(configurations, types, 1, 0.5).size(), 3U);
}

TEST(ModesTest, BeatenTypesAreDroppedUnlessTheirBettersAreLimited) {
  const std::vector<VmType> types = {{"fast", "A", 1, 1}, {"slow", "B", 1, 2}};
  const Task task{.id = "t", .modes = {{0, 1, 1, 100, {}}, {1, 1, 1, 200, {}}}};
  const Tariff tariff = rent_tariff(types, {2, 3600});
  EXPECT_EQ(useful_types({task}, tariff, {2, 3600}, types, {false, false}), (std::vector{true, false}));
  EXPECT_EQ(useful_types({task}, tariff, {2, 3600}, types, {true, false}), (std::vector{true, true}));
}

}  // namespace
}  // namespace orrery::plan::horizon
