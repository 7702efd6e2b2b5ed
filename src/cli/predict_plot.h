#pragma once

#include "cli/runs.h"
#include "predict/prediction.h"

namespace orrery::cli {

// An SVG of a sweep: throughput against batch or device count as lines, one per model, device and precision; or bars
// when nothing was swept.
std::string plot_predictions(const std::vector<RunPoint>& points, const std::vector<predict::Prediction>& predictions);

// An SVG of one iteration: what the device does and what the network does, over time.
std::string plot_timeline(const RunPoint& point, const predict::Prediction& prediction);

}  // namespace orrery::cli
