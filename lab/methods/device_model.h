#pragma once
// Learns how long an operator's kernels keep the device.
//
// Operators fall into groups whose kernels are alike: matrix products (convolutions, linear layers, matmul), grouped
// convolutions, norms, everything bound by memory; each forward and backward, and updates. Each group has two time
// regressions with the roofline as prior: one that sees launch geometry, better for models like those learned from, and
// one that does not, better for others. Rows weigh as much as their share of their iteration.

#include <array>
#include <span>

#include "lab/lab.h"
#include "predict/ets/launch_features.h"
#include "predict/learn/time_regression.h"

namespace orrery::lab {

class DeviceModel {
 public:
  static constexpr std::size_t kGroups = 9;
  static constexpr std::array kSights = {Sight::kShapes, Sight::kLaunches};

  struct Row {
    const LaunchContext* context;
    std::size_t row;
    double busy;
    double time;
    double iteration;
    double times;  // rows it represents
  };

  // Which of the two are learned; a time may be asked of those only.
  struct Sights {
    bool shapes = true, launches = true;
    bool has(Sight sight) const { return sight == Sight::kShapes ? shapes : launches; }
  };

  static Result<DeviceModel> fit(std::span<const Row> rows, const BoostOptions& options, const Sights& sights);

  // Logarithm of the time, by one of the two.
  double log_time(const LaunchContext& context, std::size_t row, Sight sight, double busy) const;

 private:
  static Result<TimeRegression> fit_group(std::span<const Row> rows, std::size_t group, Sight sight,
                                          const BoostOptions& options);

  std::array<std::array<TimeRegression, kGroups>, kSights.size()> groups_;
};

}  // namespace orrery::lab
