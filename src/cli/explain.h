#pragma once
// Explains a prediction: what bounds the time, where the memory goes, which operators are slow.

#include <map>

#include "cli/runs.h"
#include "predict/prediction.h"

namespace orrery::cli {

// One device's time by what bounds it; waiting for launches and exposed communication included.
std::map<predict::Bound, Seconds> time_by_bound(const predict::Prediction& prediction);
predict::Bound main_bound(const predict::Prediction& prediction);

// The slowest operators, all phases together.
Table operator_table(const RunPoint& point, const predict::Prediction& prediction, std::size_t top);

// For people: bounds, memory, slowest operators.
std::string explanation_text(const RunPoint& point, const predict::Prediction& prediction, std::size_t top);
// The same as a JSON object.
std::string explanation_json(const RunPoint& point, const predict::Prediction& prediction, std::size_t top);

}  // namespace orrery::cli
