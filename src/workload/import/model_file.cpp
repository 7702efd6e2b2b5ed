#include "workload/import/model_file.h"

#include "workload/import/graph_json.h"
#include "workload/import/graphdef/file.h"
#include "workload/import/graphdef/translate.h"
#include "workload/import/onnx/onnx.h"

namespace orrery::workload {

namespace {

using import::Field;
using import::WireType;

Result<TrainingGraph> read_graph_json(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, files.read(path, kGraphJsonMax));
  return parse_graph_json(text);
}

Result<TrainingGraph> read_graphdef_model(env::Files& files, const std::string& path) {
  ORRERY_TRY(const GraphDef graph, read_graphdef(files, path));
  return translate_graphdef(graph, path);
}

std::optional<ModelFileKind> kind_by(const Field& field) {
  const bool is_bytes = field.type == WireType::kBytes;
  if (field.number == 1 && is_bytes) return ModelFileKind::kGraphDef;
  if (field.number == 1) return field.number_value == 1 ? ModelFileKind::kGraphDef : ModelFileKind::kOnnx;
  if (is_bytes && (field.number == 7 || field.number == 8)) return ModelFileKind::kOnnx;
  return std::nullopt;
}

// A broken file counts as ONNX, whose reader says where it is broken.
ModelFileKind detect_binary(import::ByteSource& source) {
  constexpr int kMostFields = 64;
  import::Message message(source);
  for (int i = 0; i < kMostFields && !message.at_end(); ++i) {
    const auto field = message.next();
    if (!field) break;
    if (const auto kind = kind_by(*field)) return *kind;
  }
  return ModelFileKind::kOnnx;
}

Result<ModelFileKind> kind_of(env::Files& files, const std::string& path) {
  ORRERY_TRY(const auto file, files.open(path));
  import::ByteSource source(*file);
  return detect_model_file(source);
}

Result<TrainingGraph> read_as(ModelFileKind kind, env::Files& files, const std::string& path) {
  switch (kind) {
    case ModelFileKind::kOnnx:
      return read_onnx(files, path);
    case ModelFileKind::kGraphDef:
      return read_graphdef_model(files, path);
    case ModelFileKind::kGraphJson:
      break;
  }
  return read_graph_json(files, path);
}

}  // namespace

Result<ModelFileKind> detect_model_file(import::ByteSource& source) {
  constexpr std::size_t kBeginning = 4096;
  if (source.size() == 0) return Error::invalid("the file is empty");
  ORRERY_TRY(const std::string_view beginning, source.bytes_at(0, kBeginning));
  const std::size_t first = beginning.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string_view::npos && beginning[first] == '{') return ModelFileKind::kGraphJson;
  if (looks_like_graphdef_text(beginning)) return ModelFileKind::kGraphDef;
  if (is_binary_file(beginning)) return detect_binary(source);
  return Error::invalid("not a model: expected ONNX, a TensorFlow GraphDef or a graph in JSON");
}

Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path) {
  const auto kind = kind_of(files, path);
  Result<TrainingGraph> graph = kind ? read_as(*kind, files, path) : Result<TrainingGraph>(kind.error());
  if (!graph) return std::move(graph).error().with_context(path);
  return graph;
}

}  // namespace orrery::workload
