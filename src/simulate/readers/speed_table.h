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

#include "base/result.h"
#include "simulate/goodput/application.h"

namespace orrery::simulate {

class SpeedTable {
 public:
  static Result<SpeedTable> parse(std::string_view json);

  // Whole runs of every application with every batch that was validated, on as many GPUs as were measured.
  static SpeedTable of(const Applications& applications);

  bool empty() const { return speeds_.empty(); }
  // On the fastest device type that was measured.
  std::optional<double> steps_per_s(std::string_view model, int gpus) const;
  std::optional<double> run_s(std::string_view application, int batch, int gpus) const;

 private:
  std::map<std::pair<std::string, int>, double> speeds_;
  std::map<std::tuple<std::string, int, int>, double> runs_s_;
};

}  // namespace orrery::simulate
