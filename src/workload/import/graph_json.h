#pragma once
// Our own graph format: one JSON object that lists the operators of a training graph in execution order.
// docs/reference/formats/graph.md explains it; graph_json_schema() is its JSON Schema, made from the same field lists
// that read and write it.

#include <string>
#include <string_view>

#include "workload/graph.h"

namespace orrery::workload {

inline constexpr int kGraphJsonVersion = 1;
inline constexpr int kGraphJsonDepthMax = 64;

// Errors name the operator and the field, or the byte where the text stops being JSON. Unknown fields are errors.
Result<TrainingGraph> parse_graph_json(std::string_view text);
std::string to_graph_json(const TrainingGraph& graph);
std::string graph_json_schema();

}  // namespace orrery::workload
