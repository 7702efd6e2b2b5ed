#pragma once
// A file of losses: CSV with a header, one row per measured loss (docs/formats/losses.md).
//
// The column `step` (or `iteration`, or `epoch`) rises from row to row; the column `loss` (or `train_loss`) is above 0.
// Other columns are not looked at. An error names the file and the line.

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "env/files.h"
#include "predict/scaling/convergence.h"

namespace orrery::predict {

inline constexpr Bytes kLossFileMax = mebibytes(64);
inline constexpr std::size_t kLossRowsMax = 1'000'000;

struct LossFile {
  bool counts_epochs = false;  // the first column is `epoch`
  std::vector<LossPoint> points;
};

// `name` stands for the file in errors. Any bytes give losses or an error.
Result<LossFile> parse_losses(std::string_view csv, std::string_view name);
Result<LossFile> read_losses(env::Files& files, const std::string& path);

}  // namespace orrery::predict
