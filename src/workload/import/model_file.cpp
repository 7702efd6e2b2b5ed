#include "workload/import/model_file.h"

#include "base/text.h"
#include "workload/import/graph_json.h"

namespace orrery::workload {

ModelFileKind detect_model_file(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  return trim(head).starts_with("{") ? ModelFileKind::kGraphJson : ModelFileKind::kUnknown;
}

Result<TrainingGraph> read_model_file(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string content, files.read(path, kModelFileMax));
  Result<TrainingGraph> graph = Error::unsupported("not a kind of model file this program knows (graph JSON)");
  if (detect_model_file(content) == ModelFileKind::kGraphJson) graph = parse_graph_json(content);
  if (!graph) return std::move(graph).error().with_context(path);
  return graph;
}

}  // namespace orrery::workload
