#include "predict/neural/ets_lessons.h"

#include <map>

namespace orrery::predict {

namespace {

constexpr double kMicro = 1e6;  // microseconds in a second

Result<EtsLesson> lesson_of(const profile::DatasetEntry& entry) {
  ORRERY_TRY(workload::TrainingRun run, profile::run_of(entry.configuration));
  EtsLesson lesson{.key = entry.configuration.key(), .run = std::move(run)};
  std::map<std::pair<workload::OperatorIndex, workload::Phase>, StepTime> times;
  double sum = 0;
  for (const profile::MeasuredOperator& op : entry.operators) {
    StepTime& time = times[{op.index, op.phase}];
    time.execution += op.execution.value();
    time.gap += op.gap.value();
    sum += (op.execution + op.gap).value();
  }
  const double scale = kMicro * (sum > 0 ? entry.iteration().value() / sum : 1);
  for (const workload::PhaseStep& step : lesson.run.graph.execution_order()) {
    const auto found = times.find({step.op, step.phase});
    lesson.steps.push_back(found == times.end() ? StepTime{}
                                                : StepTime{scale * found->second.execution, scale * found->second.gap});
  }
  lesson.rows = graph_rows(lesson.run, hardware::DeviceKind::kCpu);
  add_times(lesson.rows, lesson.steps);
  lesson.rows.trace.id = lesson.key;
  return lesson;
}

}  // namespace

Result<EtsLessons> ets_lessons(const profile::Dataset& dataset) {
  EtsLessons all{.machine = {.name = dataset.header.machine,
                             .library = dataset.header.library,
                             .threads = static_cast<std::uint32_t>(dataset.header.threads)}};
  for (const profile::DatasetEntry& entry : dataset.entries) {
    if (entry.is_noisy()) {
      all.skipped.push_back(entry.configuration.key() + ": its visits disagree");
      continue;
    }
    auto lesson = lesson_of(entry);
    if (!lesson) return std::move(lesson).error().with_context(entry.configuration.key());
    all.lessons.push_back(std::move(*lesson));
  }
  return all;
}

}  // namespace orrery::predict
