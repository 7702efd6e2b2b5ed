#pragma once
// Reads a model from a file of any kind we know; the kind is found from the content.

#include "env/files.h"
#include "workload/graph.h"

namespace orrery::workload {

enum class ModelFileKind { kGraphJson, kUnknown };

// Looks at the first bytes of a file.
ModelFileKind detect_model_file(std::string_view head);

// Files above this are refused.
inline constexpr Bytes kModelFileMax = mebibytes(512);

// Errors carry the path.
Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path);

}  // namespace orrery::workload
