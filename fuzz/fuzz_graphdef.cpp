// Any bytes are a GraphDef or an error, as text and as binary; a graph that is read has phases, is translated or
// refused, and what is translated can be run with another batch and predicted.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "predict/analytic/analytic.h"
#include "workload/import/graphdef/phases.h"
#include "workload/import/graphdef/translate.h"

namespace {

using namespace orrery;
using workload::GraphDef;

void check_model(const GraphDef& graph) {
  const auto model = workload::translate_graphdef(graph, "fuzz");
  if (!model) {
    if (model.error().to_string().empty()) std::abort();
    return;
  }
  auto batched = model->with_batch(3);
  if (!batched) return;
  if (batched->parameter_count() != model->parameter_count()) std::abort();
  const auto placement = hardware::make_placement("T4", 1, 1);
  workload::TrainingRun run{std::move(*batched)};
  if (!predict::AnalyticPredictor().predict(run, *placement)) std::abort();
}

void check(const Result<GraphDef>& graph) {
  if (!graph) {
    if (graph.error().message().empty()) std::abort();
    return;
  }
  const auto facts = workload::graphdef_facts(*graph, "GPU");
  if (facts && facts->component_nodes > facts->device_nodes) std::abort();
  const auto index = workload::GraphDefIndex::make(*graph);
  if (!index) return;
  if (workload::graphdef_phases(*index).of.size() != graph->nodes.size()) std::abort();
  check_model(*graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1 << 16) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(workload::parse_graphdef_text(bytes));
  workload::import::ByteSource source(bytes);
  check(workload::parse_graphdef_binary(source));
  return 0;
}
