#pragma once
// The time of a training step on one machine from a profile of the same step on another.
//
// A profile shows how the device's time divides over operators. Scaled so that it sums to the measured step time t,
// with parts p_g for groups g of operators (convolutions by pass, products, normalisation, pooling, updates, copies,
// the rest, and the device idle), the step on the other machine takes
//
//   base = Σ_g c_g p_g + c_0,   c >= 0, least squares of base / measured − 1
//
// since every kind of operator has its own speed ratio. The rest is learned by trees on the shares p_g / t, t itself,
// the batch and the size of images, as log(measured / base). Operators of no group count as element-wise, so that one
// never seen in training (a depthwise convolution) still takes time.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"
#include "predict/learn/boosted_trees.h"
#include "predict/learn/ridge.h"

namespace orrery::lab {

struct StepProfile {
  std::string model{};
  double batch = 1, pixels = 1;
  double step_us = 0;                       // measured where the profile was taken
  std::map<std::string, double> device_us;  // by operator, "Conv2D"; "IDLE" is the device waiting
};

// Sums by group, scaled to the step time; the order is fixed.
std::vector<float> profile_parts(const StepProfile& profile);
std::vector<std::string> profile_part_names();

class ProfileTransfer {
 public:
  // `target_us` are the measured step times on the other machine.
  static Result<ProfileTransfer> fit(std::span<const StepProfile* const> profiles, std::span<const double> target_us,
                                     const BoostOptions& boost);

  double predict_us(const StepProfile& profile) const;

 private:
  double base_us(std::span<const float> parts) const;

  Ridge parts_;
  BoostedTrees residual_;
};

BoostOptions profile_boost_options(std::uint64_t seed, int threads);

}  // namespace orrery::lab
