#include "workload/import/model_file.h"

#include <algorithm>
#include <array>

#include "workload/import/graph_json.h"
#include "workload/import/onnx/onnx.h"

namespace orrery::workload {

namespace {

Result<TrainingGraph> read_graph_json(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, files.read(path, kGraphJsonMax));
  return parse_graph_json(text);
}

Result<ModelFileKind> kind_of(env::Files& files, const std::string& path) {
  ORRERY_TRY(const auto file, files.open(path));
  std::array<char, 256> beginning{};
  ORRERY_TRY(const std::size_t got, file->read_at(0, beginning));
  return detect_model_file(std::string_view(beginning.data(), got));
}

}  // namespace

Result<ModelFileKind> detect_model_file(std::string_view beginning) {
  if (beginning.empty()) return Error::invalid("the file is empty");
  const std::size_t first = beginning.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string_view::npos && beginning[first] == '{') return ModelFileKind::kGraphJson;
  // A protocol buffer: its tags and lengths are bytes that no text has.
  const bool is_binary =
      std::any_of(beginning.begin(), beginning.end(), [](char c) { return static_cast<unsigned char>(c) < '\t'; });
  if (is_binary) return ModelFileKind::kOnnx;
  return Error::invalid("not a model: expected an ONNX file or a graph in JSON");
}

Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path) {
  const auto kind = kind_of(files, path);
  Result<TrainingGraph> graph = !kind                           ? Result<TrainingGraph>(kind.error())
                                : *kind == ModelFileKind::kOnnx ? read_onnx(files, path)
                                                                : read_graph_json(files, path);
  if (!graph) return std::move(graph).error().with_context(path);
  return graph;
}

}  // namespace orrery::workload
