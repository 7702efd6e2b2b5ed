#pragma once

#include "service/runs.h"

namespace orrery::service {

// An SVG of a sweep: throughput against batch or device count as lines, one per model, device and precision; or bars
// when nothing was swept.
std::string plot_predictions(const std::vector<PredictedRun>& runs);

// An SVG of one iteration: what the device does and what the network does, over time.
std::string plot_timeline(const PredictedRun& run);

}  // namespace orrery::service
