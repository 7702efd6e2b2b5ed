#include "predict/operators/device_ensemble.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

using Weighted = std::vector<std::pair<double, double>>;

TEST(WeightedMedian, LiesBetweenTheMiddlesOfWeights) {
  EXPECT_EQ(weighted_median(Weighted{{7, 2}}), 7);
  EXPECT_NEAR(weighted_median(Weighted{{1, 1}, {3, 1}}), 2, 1e-12);
  EXPECT_NEAR(weighted_median(Weighted{{5, 1}, {1, 1}, {3, 1}}), 3, 1e-12);
  // Middles of the weights 3 and 1 are at 3/8 and 7/8; one half is a quarter of the way.
  EXPECT_NEAR(weighted_median(Weighted{{0, 3}, {8, 1}}), 2, 1e-12);
}

// Work whose time is 0.05 ms and the roof over a utilisation that grows with size; devices differ by 3 %.
struct World {
  std::vector<DeviceFacts> devices;
  Features features{{"size"}};
  std::vector<WorkRow> rows;
};

World make_world(std::size_t devices, double wrong_device_factor) {
  World world;
  Random random(5);
  for (std::size_t d = 0; d < devices; ++d) {
    world.devices.push_back(
        {.name = std::string(1, static_cast<char>('a' + d)), .generation = 6 + 0.5 * static_cast<double>(d)});
    for (int i = 0; i < 1500; ++i) {
      const double size = random.uniform(-8, 8);
      const double roof = std::exp2(size);
      const double utilisation = 0.2 + 0.7 / (1 + std::exp2(-size));
      const double factor = (d == 1 ? wrong_device_factor : 1) * (1 + 0.03 * random.normal());
      world.features.add(std::vector<float>{static_cast<float>(size)});
      world.rows.push_back(
          {.device = d, .roof_ms = roof, .measured_ms = factor * (0.05 + roof / utilisation), .weight = 1});
    }
  }
  return world;
}

double mean_error(const DeviceEnsemble& ensemble, std::size_t device) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < ensemble.rows().size(); ++i) {
    if (ensemble.rows()[i].device != device) continue;
    sum += std::abs(ensemble.predict(i).time_ms / ensemble.rows()[i].measured_ms - 1);
    count += 1;
  }
  return sum / count;
}

TEST(DeviceEnsemble, PredictsADeviceFromTheOthers) {
  const World world = make_world(4, 1);
  const auto ensemble = DeviceEnsemble::fit(world.devices, world.features, world.rows, {});
  ASSERT_TRUE(ensemble);
  EXPECT_LT(mean_error(*ensemble, 3), 0.05);
}

TEST(DeviceEnsemble, OneDeviceMeasuredWronglyDoesNotDecide) {
  const World world = make_world(5, 6);
  EnsembleOptions options;
  options.reach = 100;
  const auto ensemble = DeviceEnsemble::fit(world.devices, world.features, world.rows, options);
  ASSERT_TRUE(ensemble);
  EXPECT_LT(mean_error(*ensemble, 4), 0.06);
}

TEST(DeviceEnsemble, IntervalsHoldWhatTheyPromise) {
  const World world = make_world(5, 1);
  const auto ensemble = DeviceEnsemble::fit(world.devices, world.features, world.rows, {});
  ASSERT_TRUE(ensemble);
  const auto conformal = ensemble->calibrate(2);
  ASSERT_TRUE(conformal);
  int inside = 0, count = 0;
  for (std::size_t i = 0; i < world.rows.size(); ++i) {
    if (world.rows[i].device != 2) continue;
    const Interval interval = conformal->interval(ensemble->predict(i).time_ms, "");
    inside += interval.low <= world.rows[i].measured_ms && world.rows[i].measured_ms <= interval.high ? 1 : 0;
    ++count;
  }
  EXPECT_NEAR(static_cast<double>(inside) / count, 0.8, 0.06);
}

TEST(DeviceEnsemble, WorkBeyondWhatWasFittedAndOtherDevicesAreOutOfDomain) {
  World world = make_world(3, 1);
  world.features.add(std::vector<float>{30});
  world.rows.push_back({.device = 0, .roof_ms = 1});
  world.features.add(std::vector<float>{0});
  world.rows.push_back({.device = 0, .roof_ms = 1});
  const auto ensemble = DeviceEnsemble::fit(world.devices, world.features, world.rows, {});
  ASSERT_TRUE(ensemble);
  EXPECT_FALSE(ensemble->predict_seen(world.rows.size() - 2).in_domain);
  EXPECT_TRUE(ensemble->predict_seen(world.rows.size() - 1).in_domain);
  EXPECT_FALSE(ensemble->predict(world.rows.size() - 1).in_domain);
}

TEST(DeviceEnsemble, WhatCannotBeFittedIsAnError) {
  World world = make_world(2, 1);
  EXPECT_FALSE(DeviceEnsemble::fit({}, world.features, world.rows, {}));
  EXPECT_FALSE(DeviceEnsemble::fit(world.devices, Features({"size"}), world.rows, {}));
  const auto ensemble = DeviceEnsemble::fit(world.devices, world.features, world.rows, {});
  ASSERT_TRUE(ensemble);
  EXPECT_FALSE(ensemble->calibrate(0));  // one other device gives no information about devices left out
  world.rows[3].roof_ms = 0;
  EXPECT_FALSE(DeviceEnsemble::fit(world.devices, world.features, world.rows, {}));
}

}  // namespace
}  // namespace orrery::predict
