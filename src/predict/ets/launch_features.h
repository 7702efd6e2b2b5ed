#pragma once
// What the launch model sees of each operator: one row of features for the device's time, for hidden kernels, and for
// the host's time. Only what is known before the iteration runs.

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

// One trace, prepared for features.
class LaunchContext {
 public:
  LaunchContext(const LaunchTrace& trace, const std::function<WorkClass(std::int32_t kind)>& class_of,
                const DevicePeaks& peaks);

  const LaunchTrace& trace() const { return trace_; }
  const std::vector<OperatorWork>& works() const { return works_; }
  std::size_t size() const { return works_.size(); }
  bool is_batch_norm(std::size_t row) const { return works_[row].work_class == WorkClass::kBatchNorm; }

  // Roofline times of a row's kernels, of its hidden kernels.
  double device_prior(std::size_t row) const { return device_priors_[row]; }
  double hidden_prior(std::size_t row) const { return hidden_priors_[row]; }

  static std::vector<std::string> device_names();
  static std::vector<std::string> hidden_names();
  static std::vector<std::string> host_names();
  // `busy`: the share of the iteration in which the device works.
  void device_features(std::size_t row, double busy, std::vector<float>& out) const;
  void hidden_features(std::size_t row, double busy, std::vector<float>& out) const;
  void host_features(std::size_t row, std::vector<float>& out) const;

 private:
  double roofline(const OperatorWork& work) const;
  void find_hidden();

  const LaunchTrace& trace_;
  DevicePeaks peaks_;
  std::vector<OperatorWork> works_;
  BackwardMatch match_;
  std::vector<double> device_priors_, hidden_priors_;
  struct Hidden {
    double linear_flops = 0, linear_bytes = 0, other_bytes = 0, accumulated_bytes = 0;
    int linears = 0, others = 0;
  };
  std::vector<Hidden> hidden_;
  std::vector<std::int32_t> phase_begin_, phase_end_;  // by row
};

}  // namespace orrery::predict
