#pragma once
// A model in a file, whatever its format: the kind is found from the content, not from the name.
//
// - a text that begins with { is a graph in our own format; one that begins with a field of a GraphDef is that.
// - of a binary file the first field of the outermost message that only one format has decides: a message in field 1 is
//   a node of a GraphDef; the number 1 in field 1 is the version of a SavedModel, another number that of an ONNX file;
//   a message in field 7 or 8 is of an ONNX file.

#include "env/files.h"
#include "workload/graph.h"
#include "workload/import/wire.h"

namespace orrery::workload {

enum class ModelFileKind { kOnnx, kGraphJson, kGraphDef };

Result<ModelFileKind> detect_model_file(import::ByteSource& source);

// A graph in our own format may be this long; binary files are read in parts.
inline constexpr Bytes kGraphJsonMax = mebibytes(512);

// Errors carry the path.
Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path);

}  // namespace orrery::workload
