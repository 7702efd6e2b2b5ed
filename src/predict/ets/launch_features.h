#pragma once
// The features of each operator in the launch model: one row for the device's time, one for hidden kernels, and one for
// the host's time. They use only what is known before the iteration runs.

#include <functional>
#include <span>

#include "predict/ets/backward_match.h"
#include "predict/ets/launch_trace.h"
#include "predict/ets/work.h"
#include "predict/learn/features.h"

namespace orrery::predict {

// Peaks that give the scale of a prior; the model learns the rest.
struct DevicePeaks {
  double flops_per_microsecond = 8.1e6;
  double bytes_per_microsecond = 3.2e5;
  double multiprocessors = 40;
};
// Of a device by its name; an unknown one gets the defaults, which do as a scale.
DevicePeaks peaks_of(std::string_view gpu);

// Launches: grids and blocks as well, and how busy the device is. They distinguish kernels, and mislead where the
// largest grid is not that of the kernel that takes the time.
enum class Sight { kShapes, kLaunches };

// One trace, prepared for features.
class LaunchContext {
 public:
  LaunchContext(const LaunchTrace& trace, const std::function<WorkClass(std::int32_t kind)>& class_of,
                const DevicePeaks& peaks);

  const LaunchTrace& trace() const { return trace_; }
  const std::vector<LaunchWork>& works() const { return works_; }
  std::size_t size() const { return works_.size(); }
  const BackwardMatch& match() const { return match_; }
  bool is_batch_norm(std::size_t row) const { return works_[row].work_class == WorkClass::kBatchNorm; }
  bool begins_backward(std::size_t row) const;
  // Whether the host waits here until the device is idle: at forward batch norms and before the backward pass.
  bool synchronises(std::size_t row) const;

  // Roofline times of a row's kernels, of its hidden kernels.
  double device_prior(std::size_t row) const { return device_priors_[row]; }
  double hidden_prior(std::size_t row, std::span<const double> device) const;

  static std::vector<std::string> size_names(Sight sight);
  static std::vector<std::string> device_names(Sight sight);
  static std::vector<std::string> hidden_names();
  static std::vector<std::string> host_names();
  void size_features(std::size_t row, Sight sight, std::vector<float>& out) const;
  // `busy`: the share of the iteration in which the device works.
  void device_features(std::size_t row, Sight sight, double busy, std::vector<float>& out) const;
  // `device` gives the predicted time of each forward row.
  void hidden_features(std::size_t row, double busy, std::span<const double> device, std::vector<float>& out) const;
  void host_features(std::size_t row, std::vector<float>& out) const;

 private:
  double roofline(std::size_t row) const;
  float kernels_of(std::size_t row) const;  // without those of a bias
  void find_biases();
  void find_hidden();
  double hidden_linear(std::size_t row, std::span<const double> device) const;

  const LaunchTrace& trace_;
  DevicePeaks peaks_;
  std::vector<LaunchWork> works_;
  BackwardMatch match_;
  std::vector<double> device_priors_;
  std::vector<bool> has_bias_;  // by row: a convolution's bias has kernels of its own
  struct Hidden {
    double other_bytes = 0, accumulated_bytes = 0, next_bytes = 0;
    int linears = 0, others = 0;
  };
  std::vector<Hidden> hidden_;
  std::vector<std::int32_t> phase_begin_, phase_end_;  // by row
};

}  // namespace orrery::predict
