#include "predict/measured/measured_dataset.h"

#include <map>

namespace orrery::predict {

namespace {

Result<DatasetIteration> iteration_of(const profile::DatasetEntry& entry) {
  ORRERY_TRY(workload::TrainingRun run, profile::run_of(entry.configuration));
  DatasetIteration one{
      entry.configuration.key(), entry.configuration.family, entry.is_noisy(), {std::move(run), {}, 0}};
  std::map<std::pair<workload::OperatorIndex, workload::Phase>, double> times;
  double sum = 0;
  for (const profile::MeasuredOperator& op : entry.operators) {
    const double seconds = (op.execution + op.gap).value();
    times[{op.index, op.phase}] += seconds;
    sum += seconds;
  }
  one.steps.iteration = entry.iteration().value();
  const double scale = sum > 0 ? one.steps.iteration / sum : 1;
  for (const workload::PhaseStep& step : one.steps.run.graph.execution_order()) {
    const auto found = times.find({step.op, step.phase});
    one.steps.seconds.push_back(found == times.end() ? 0 : scale * found->second);
  }
  return one;
}

}  // namespace

std::vector<const MeasuredSteps*> undisturbed_steps(const std::vector<DatasetIteration>& iterations) {
  std::vector<const MeasuredSteps*> idle;
  for (const DatasetIteration& one : iterations) {
    if (!one.is_noisy) idle.push_back(&one.steps);
  }
  return idle;
}

Result<MeasuredSet> measured_set(const profile::Dataset& dataset) {
  MeasuredSet set{{.name = dataset.header.machine,
                   .library = dataset.header.library,
                   .threads = static_cast<std::uint32_t>(dataset.header.threads)},
                  {}};
  for (const profile::DatasetEntry& entry : dataset.entries) {
    auto one = iteration_of(entry);
    if (!one) return std::move(one).error().with_context(entry.configuration.key());
    set.iterations.push_back(std::move(*one));
  }
  return set;
}

}  // namespace orrery::predict
