// Whatever bytes a user calls an ONNX file get a graph or an error; a graph that is read can be run with another batch
// and predicted, without crash, overflow or unbounded memory.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "predict/analytic/analytic.h"
#include "workload/import/onnx/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  if (size > 1 << 16) return 0;
  const auto graph = workload::parse_onnx(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!graph) {
    if (graph.error().to_string().empty()) std::abort();
    return 0;
  }
  auto batched = graph->with_batch(3);
  if (!batched) return 0;
  if (batched->parameter_count() != graph->parameter_count()) std::abort();
  const auto placement = hardware::make_placement("T4", 1, 1);
  workload::TrainingRun run{std::move(*batched)};
  const auto prediction = predict::AnalyticPredictor().predict(run, *placement);
  if (!prediction || !(prediction->iteration.value > Seconds(0))) std::abort();
  return 0;
}
