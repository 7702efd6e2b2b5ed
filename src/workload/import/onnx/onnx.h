#pragma once
// ONNX files as training graphs. docs/reference/formats/onnx.md describes what is read, how each operator is
// translated, and the limits.
//
// The result has batch 1 if the file leaves the batch open or can be run with another one; the batch it was exported
// with otherwise. Errors name the file, the node and what was wrong. Hostile bytes get an error: no crash, no unbounded
// memory.

#include "env/files.h"
#include "workload/graph.h"

namespace orrery::workload {

// Reads structure and shapes only; weights, inside the file or beside it, are not read.
Result<TrainingGraph> read_onnx(env::Files& files, const std::string& path);
Result<TrainingGraph> parse_onnx(std::string_view bytes, const std::string& name);

}  // namespace orrery::workload
