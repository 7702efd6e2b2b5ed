#pragma once
// Measured steps per second of models on types of GPUs, alone and in pairs on the same GPUs, in the form of Gavel's
// files:
// {"v100": {"('MODEL', GPUS)": {"null": ALONE, "('OTHER', GPUS)": [SPEED, SPEED_OF_OTHER], …}, …}, …}.
// Types whose name ends in _unconsolidated (workers on several servers) are left out.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"

namespace orrery::lab {

class PackedSpeeds {
 public:
  // A model with its number of GPUs, as in the file.
  using Kind = int;

  // Speeds are by type in the order of `types`.
  static Result<PackedSpeeds> parse(std::string_view json, const std::vector<std::string>& types);

  // -1: not in the file.
  Kind kind(std::string_view model, int gpus) const;
  const std::vector<double>& alone(Kind kind) const { return alone_[static_cast<std::size_t>(kind)]; }
  // Steps per second of `first` while it shares its GPUs with `second`, by type; 0: they do not fit together.
  std::vector<double> packed(Kind first, Kind second) const;

 private:
  std::map<std::string, Kind, std::less<>> kinds_;
  std::vector<std::vector<double>> alone_;                                                      // by kind, then type
  std::map<std::pair<Kind, Kind>, std::pair<std::vector<double>, std::vector<double>>> pairs_;  // as written
};

}  // namespace orrery::lab
