#pragma once
// How fast models train, for traces that give steps or epochs and not times.
//
// Steps per second come from files in the form of Gavel's:
// {"v100": {"('ResNet-18 (batch size 16)', 1)": {"null": 12.3, …}, …}, …}. Lengths of whole runs come from measured
// applications (goodput/application.h).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/readers/application.h"

namespace orrery::simulate {

struct TypedSpeed {
  std::string device;
  double steps_per_s = 0;
};

class SpeedTable {
 public:
  static Result<SpeedTable> parse(std::string_view json);

  // Whole runs of every application with every batch that was validated, on as many GPUs as were measured.
  static SpeedTable of(const Applications& applications);

  bool empty() const { return speeds_.empty(); }
  // On every type of device that was measured; empty if none was.
  std::vector<TypedSpeed> steps_per_s(std::string_view model, int gpus) const;
  // Estimates speeds that were not measured: the model's speed on the nearest number of GPUs, times the effect of that
  // difference on other models on the type (the median of their ratios); without others, speed grows by (ratio of
  // GPUs)^0.9. Empty if the model was not measured at all.
  std::vector<TypedSpeed> predicted_steps_per_s(std::string_view model, int gpus) const;
  std::optional<double> run_s(std::string_view application, int batch, int gpus) const;

 private:
  double ratio(std::string_view device, int from_gpus, int to_gpus) const;

  // By device, then model and GPUs; all above 0.
  std::map<std::string, std::map<std::pair<std::string, int>, double>, std::less<>> speeds_;
  std::map<std::tuple<std::string, int, int>, double> runs_s_;
};

}  // namespace orrery::simulate
