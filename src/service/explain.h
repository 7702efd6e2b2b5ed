#pragma once
// Explains a prediction: what bounds the time, where the memory goes, which operators are slow.

#include <map>

#include "base/table.h"
#include "service/runs.h"

namespace orrery::service {

// One device's time by what bounds it; waiting for launches and exposed communication included.
std::map<predict::Bound, Seconds> time_by_bound(const predict::Prediction& prediction);
predict::Bound main_bound(const predict::Prediction& prediction);

// The slowest operators, all phases together.
Table operator_table(const PredictedRun& run, std::size_t top);

// For people: bounds, memory, slowest operators.
std::string explanation_text(const PredictedRun& run, std::size_t top);
// The same as a JSON object.
std::string explanation_json(const PredictedRun& run, std::size_t top);

}  // namespace orrery::service
