#pragma once
// A prediction as a row of a table.

#include "cli/runs.h"
#include "predict/prediction.h"

namespace orrery::cli {

std::vector<Column> prediction_columns();
std::vector<Cell> prediction_cells(const RunPoint& point, const predict::Prediction& p);

}  // namespace orrery::cli
