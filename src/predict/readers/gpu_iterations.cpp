#include "predict/readers/gpu_iterations.h"

#include <fmt/format.h>

#include "predict/ets/graph_steps.h"
#include "predict/readers/ets_traces.h"
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

Result<workload::TrainingRun> run_of(const LaunchTraces& traces, const LaunchTrace& trace) {
  const std::string model = fmt::format("{}:input={},classes={}", trace.model, trace.image, classes_of(traces, trace));
  ORRERY_TRY(const workload::TrainingGraph single, workload::build_model(model));
  ORRERY_TRY(workload::TrainingGraph graph, single.with_batch(trace.batch));
  return workload::TrainingRun{.graph = std::move(graph), .optimizer = workload::Optimizer::kMomentum};
}

LaunchContext context_of(const LaunchTraces& traces, const LaunchTrace& trace, const DevicePeaks& peaks) {
  return LaunchContext(
      trace, [&](std::int32_t kind) { return traces.class_of(kind); }, peaks);
}

std::string key_of(const LaunchTrace& trace) {
  return fmt::format("{} {} {}", trace.model, trace.batch, trace.image);
}

Result<DatasetIteration> iteration_of(const LaunchTraces& traces, const LaunchTrace& trace, const DevicePeaks& peaks) {
  ORRERY_TRY(workload::TrainingRun run, run_of(traces, trace));
  const LaunchContext context = context_of(traces, trace, peaks);
  ORRERY_TRY(MeasuredSteps steps, graph_steps(context, traces.kinds, std::move(run)));
  return DatasetIteration{key_of(trace), trace.family, false, std::move(steps)};
}

Result<EtsLesson> lesson_of(const LaunchTraces& traces, const LaunchTrace& trace, const DevicePeaks& peaks) {
  ORRERY_TRY(workload::TrainingRun run, run_of(traces, trace));
  EtsLesson lesson{.key = key_of(trace), .run = std::move(run)};
  ORRERY_TRY(lesson.steps, all_step_times(context_of(traces, trace, peaks), traces.kinds, lesson.run));
  lesson.rows = graph_rows(lesson.run, hardware::DeviceKind::kGpu);
  add_times(lesson.rows, lesson.steps);
  lesson.rows.trace.id = trace.id;
  lesson.rows.trace.gpu = trace.gpu;
  return lesson;
}

MeasuredMachine machine_of(const std::string& gpu) {
  return {.device = gpu, .name = gpu, .library = std::string(kLibrary)};
}

}  // namespace

Result<GpuIterations> gpu_iterations(env::Files& files, const std::string& folder, const std::string& gpu) {
  ORRERY_TRY(const LaunchTraces traces, read_launch_traces(files, folder, gpu));
  GpuIterations found{{machine_of(gpu), {}}, {}};
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

Result<EtsLessons> gpu_ets_lessons(env::Files& files, const std::string& folder, const std::string& gpu) {
  ORRERY_TRY(const LaunchTraces traces, read_launch_traces(files, folder, gpu));
  EtsLessons found{.machine = machine_of(gpu), .was_profiled = true};
  const DevicePeaks peaks = peaks_of(gpu);
  for (const LaunchTrace& trace : traces.traces) {
    if (trace.overlaps) {
      found.skipped.push_back(trace.id + ": its kernels ran side by side");
      continue;
    }
    auto one = lesson_of(traces, trace, peaks);
    if (!one) {
      found.skipped.push_back(fmt::format("{}: {}", trace.id, one.error().message()));
    } else {
      found.lessons.push_back(std::move(*one));
    }
  }
  return found;
}

}  // namespace orrery::predict
