// Any bytes are a graph or an error; a graph that was read is written and read back, and can be predicted.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "predict/analytic/analytic.h"
#include "workload/import/graph_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  const auto graph = workload::parse_graph_json(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph) {
    if (graph.error().to_string().empty()) std::abort();
    return 0;
  }
  const auto again = workload::parse_graph_json(workload::to_graph_json(*graph));
  if (!again || again->parameter_count() != graph->parameter_count()) std::abort();
  auto batched = graph->with_batch(2);
  if (!batched) return 0;
  workload::TrainingRun run{std::move(*batched)};
  (void)predict::AnalyticPredictor().predict(run, *hardware::make_placement("T4", 1, 1));
  return 0;
}
