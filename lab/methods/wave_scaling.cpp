#include "lab/methods/wave_scaling.h"

#include <cmath>

namespace orrery::lab {

double memory_share(std::optional<double> flops_per_byte, const hardware::Device& target) {
  if (!flops_per_byte) return 1;
  const double ridge = target.fp32_vector.value() / target.memory_bandwidth.value();
  return *flops_per_byte <= ridge ? 1 - 0.5 * *flops_per_byte / ridge : 0.5 * ridge / *flops_per_byte;
}

double wave_scaled_ms(const MeasuredKernel& kernel, const hardware::Device& measured_on,
                      const hardware::Device& target) {
  const auto waves = [&](const hardware::Device& device) {
    return kernel.blocks / (static_cast<double>(device.sms) * kernel.blocks_per_sm);
  };
  if (waves(measured_on) < 1 && waves(target) < 1) return kernel.time_ms;
  const double share = memory_share(kernel.flops_per_byte, target);
  const double bandwidth = measured_on.memory_bandwidth / target.memory_bandwidth;
  const double clock = measured_on.boost_mhz / target.boost_mhz;
  const double sms = static_cast<double>(measured_on.sms) / static_cast<double>(target.sms);
  return kernel.time_ms * std::pow(bandwidth, share) * std::pow(clock * sms, 1 - share);
}

}  // namespace orrery::lab
