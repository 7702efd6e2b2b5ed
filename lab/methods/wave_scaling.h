#pragma once
// Wave scaling: the time of a measured kernel on another device (Yu et al., "Habitat", USENIX ATC 2021, equation 1).
//
// A kernel's blocks run in waves of W = multiprocessors × blocks resident on each. If the grid fills less than one wave
// on both devices, the time stays. Otherwise, with bandwidth B, clock C and multiprocessors S of the devices a and b,
//
//   t_b = t_a · (B_a / B_b)^g · (C_a / C_b)^(1−g) · (S_a / S_b)^(1−g)
//
// g is the influence of memory: from the arithmetic intensity I of the kernel (operations per byte) and the ridge point
// R = peak / bandwidth of b, g = 1 − I / 2R for I <= R, else R / 2I; g = 1 when the intensity is not known.

#include <optional>

#include "hardware/device.h"
#include "lab/lab.h"

namespace orrery::lab {

struct MeasuredKernel {
  double time_ms = 0;
  double blocks = 0;         // of the grid
  double blocks_per_sm = 1;  // resident at once
  std::optional<double> flops_per_byte{};
};

double memory_share(std::optional<double> flops_per_byte, const hardware::Device& target);
double wave_scaled_ms(const MeasuredKernel& kernel, const hardware::Device& measured_on,
                      const hardware::Device& target);

}  // namespace orrery::lab
