#pragma once
// A model in a file, whatever its format: the kind is found from the content, not from the name.

#include "env/files.h"
#include "workload/graph.h"

namespace orrery::workload {

enum class ModelFileKind { kOnnx, kGraphJson };
std::string_view to_string(ModelFileKind kind);

// From the first bytes of a file.
Result<ModelFileKind> detect_model_file(std::string_view beginning);

Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path);

}  // namespace orrery::workload
