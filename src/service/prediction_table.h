#pragma once
// A prediction as a row of a table.

#include "base/table.h"
#include "service/runs.h"

namespace orrery::service {

std::vector<Column> prediction_columns();
std::vector<Cell> prediction_cells(const PredictedRun& run);

}  // namespace orrery::service
