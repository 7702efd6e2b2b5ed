#pragma once
// What measured operators of several GPUs teach about any GPU, and the file it is kept in
// (docs/reference/formats/model.md).
//
// Devices have the names of the built-in table where it has them. Times are of fp32, one operator after another.

#include <functional>
#include <map>

#include "predict/operators/graph_operators.h"
#include "predict/operators/operator_work.h"

namespace orrery::predict {

// How operators are learned whose times are summed to iterations, for shipped and for evaluated models.
inline EnsembleOptions operator_options(std::uint64_t seed, int threads) {
  EnsembleOptions options;
  options.overhead_share = 0.5;  // of a launch is not hidden behind the work before it
  options.boost.seed = seed;
  options.boost.threads = threads;
  return options;
}

class OperatorModel {
 public:
  // One work for every class; each needs measurements of three devices. `progress` is called after each class.
  static Result<OperatorModel> fit(std::vector<OperatorWork> classes, const EnsembleOptions& options,
                                   const std::function<void()>& progress = {});

  // Without the measurements of the device that is `excluded`.
  EnsembleAnswer answer(const GraphWork& work, const DeviceFacts& device, std::string_view excluded = {}) const;
  // Its time, milliseconds.
  double time_ms(const GraphWork& work, const DeviceFacts& device, std::string_view excluded = {}) const;
  // How far single operators of real models on an unmeasured device were from the prediction, as multiples.
  Interval ratios() const { return ratios_; }
  const std::vector<std::string>& devices() const { return devices_; }
  bool is_measured(std::string_view device) const;

  std::string to_bytes() const;
  // Any bytes give a model or an error: another version, cut, damaged, or not a model of operators at all.
  static Result<OperatorModel> parse(std::string_view bytes);
  // Whether the bytes begin like such a model.
  static bool is_one(std::string_view bytes);

 private:
  std::map<OperatorClass, DeviceEnsemble> classes_;
  std::vector<std::string> devices_;
  Interval ratios_{1, 1};
};

}  // namespace orrery::predict
