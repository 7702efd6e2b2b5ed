#include "predict/evaluate/gpu_iterations.h"

#include <fmt/format.h>

#include "predict/ets/graph_steps.h"
#include "predict/evaluate/ets_traces.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {

namespace {

constexpr std::string_view kLibrary = "PyTorch 2.0";

// How many classes the traced model had: the width of what its loss compares.
std::int64_t classes_of(const LaunchTraces& traces, const LaunchTrace& trace) {
  constexpr std::size_t kClasses = 2;  // element size, batch, classes
  for (const LaunchedOperator& op : trace.operators) {
    const auto name = traces.kinds.find(op.kind);
    if (name != traces.kinds.end() && name->second == "cross_entropy" && op.parameters.size() > kClasses) {
      return op.parameters[kClasses];
    }
  }
  return 1000;
}

Result<DatasetIteration> iteration_of(const LaunchTraces& traces, const LaunchTrace& trace, const DevicePeaks& peaks) {
  const std::string model = fmt::format("{}:input={},classes={}", trace.model, trace.image, classes_of(traces, trace));
  ORRERY_TRY(const workload::TrainingGraph single, workload::build_model(model));
  ORRERY_TRY(workload::TrainingGraph graph, single.with_batch(trace.batch));
  const LaunchContext context(
      trace, [&](std::int32_t kind) { return traces.class_of(kind); }, peaks);
  workload::TrainingRun run{.graph = std::move(graph), .optimizer = workload::Optimizer::kMomentum};
  ORRERY_TRY(MeasuredSteps steps, graph_steps(context, traces.kinds, std::move(run)));
  return DatasetIteration{fmt::format("{} {} {}", trace.model, trace.batch, trace.image), trace.family, false,
                          std::move(steps)};
}

}  // namespace

Result<GpuIterations> gpu_iterations(env::Files& files, const std::string& folder, const std::string& gpu) {
  ORRERY_TRY(const LaunchTraces traces, read_launch_traces(files, folder, gpu));
  GpuIterations found{{{.device = gpu, .name = gpu, .library = std::string(kLibrary)}, {}}, {}};
  const DevicePeaks peaks = peaks_of(gpu);
  for (const LaunchTrace& trace : traces.traces) {
    if (trace.overlaps) continue;
    auto one = iteration_of(traces, trace, peaks);
    if (!one)
      found.skipped.push_back(fmt::format("{}: {}", trace.id, one.error().message()));
    else
      found.set.iterations.push_back(std::move(*one));
  }
  return found;
}

}  // namespace orrery::predict
