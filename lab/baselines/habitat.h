#pragma once
// An iteration on one GPU from the measured trace on another, as Habitat does it (Yu et al., USENIX ATC 2021):
//
//   convolutions, linear layers and matrix products   t_b = t_a · mlp(b) / mlp(a), one network per class of operators
//                                                     on its parameters and the device's sheet
//   everything else                                   wave scaling (operators/wave_scaling.h)
//   gaps                                              copied: Habitat's host overhead does not depend on the GPU
//
// The networks are those of operator_mlp.h (kHabitat), learned from the operators of traces of both devices.

#include <map>
#include <optional>

#include "hardware/device.h"
#include "lab/baselines/mlp_regression.h"
#include "lab/lab.h"
#include "predict/ets/launch_trace.h"
#include "predict/ets/work.h"

namespace orrery::lab {

struct HabitatOptions {
  std::uint64_t steps = 1500;         // of each network
  std::size_t operators_max = 60000;  // drawn at random, of each class
  std::uint64_t seed = 1;
};

class Habitat {
 public:
  using ClassOf = std::function<WorkClass(std::int32_t kind)>;

  // Each trace's GPU must be in the built-in table of devices.
  static Result<Habitat> fit(std::span<const LaunchTrace* const> traces, const ClassOf& class_of,
                             const HabitatOptions& options);

  // Microseconds. Without networks every operator is wave scaled.
  enum class Kernels { kNetworks, kWavesOnly };
  Result<double> iteration(const LaunchTrace& measured, const hardware::Device& target, Kernels kernels) const;

 private:
  explicit Habitat(ClassOf class_of) : class_of_(std::move(class_of)) {}

  ClassOf class_of_;
  std::map<WorkClass, MlpRegression> networks_;
};

}  // namespace orrery::lab
