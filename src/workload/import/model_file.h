#pragma once
// A model in a file, whatever its format: the kind is found from the content, not from the name.

#include "env/files.h"
#include "workload/graph.h"

namespace orrery::workload {

enum class ModelFileKind { kOnnx, kGraphJson };

// From the first bytes of a file.
Result<ModelFileKind> detect_model_file(std::string_view beginning);

// A graph in our own format may be this long; ONNX files are read in parts.
inline constexpr Bytes kGraphJsonMax = mebibytes(512);

// Errors carry the path.
Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path);

}  // namespace orrery::workload
