#include "workload/import/onnx/onnx.h"

#include "workload/import/onnx/model.h"
#include "workload/import/onnx/translate.h"

namespace orrery::workload {

namespace {

Result<TrainingGraph> read(import::ByteSource& source, const std::string& name) {
  ORRERY_TRY(import::OnnxModel model, import::read_onnx_model(source));
  ORRERY_TRY_VOID(import::sort_nodes(model));
  if (import::has_open_batch(model)) {
    const auto graph = import::translate(model, name, import::kOpenBatch);
    if (graph) {
      if (auto single = graph->with_batch(1)) return single;
    }
    // The file may declare the batch open and yet have reshapes to batch 1.
  }
  ORRERY_TRY(TrainingGraph graph, import::translate(model, name, 1));
  if (graph.batch() == 1) return graph;
  auto single = graph.with_batch(1);
  return single ? std::move(single) : Result<TrainingGraph>(std::move(graph));
}

Result<TrainingGraph> read_named(import::ByteSource& source, const std::string& name) {
  auto graph = read(source, name);
  if (!graph) return std::move(graph).error().with_context("reading " + name);
  return graph;
}

}  // namespace

Result<TrainingGraph> read_onnx(env::Files& files, const std::string& path) {
  ORRERY_TRY(const auto file, files.open(path));
  import::ByteSource source(*file);
  return read_named(source, path);
}

Result<TrainingGraph> parse_onnx(std::string_view bytes, const std::string& name) {
  import::ByteSource source(bytes);
  return read_named(source, name);
}

}  // namespace orrery::workload
