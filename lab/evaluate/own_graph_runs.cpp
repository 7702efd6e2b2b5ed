#include "lab/evaluate/own_graph_runs.h"

#include <algorithm>
#include <cmath>

#include "predict/measured/measured_dataset.h"

namespace orrery::lab {

namespace {

double log_microseconds(double seconds) {
  return std::log10(1 + 1e6 * seconds);
}

std::vector<double> metrics_of(const MeasuredSteps& measured) {
  double forward = 0, backward = 0;
  const std::vector<workload::PhaseStep> steps = measured.run.graph.execution_order();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].phase == workload::Phase::kForward) forward += measured.seconds[i];
    if (steps[i].phase == workload::Phase::kBackward) backward += measured.seconds[i];
  }
  return {log_microseconds(forward), log_microseconds(backward), log_microseconds(measured.iteration)};
}

}  // namespace

Result<ResourceRuns> read_own_graph_runs(const SuiteInput& input) {
  ORRERY_TRY(const OpFrequencies frequencies, read_op_frequencies(input));
  ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(input.files, std::string(kShippedIterations)));
  ORRERY_TRY(const MeasuredSet set, measured_set(dataset));
  ResourceRuns runs;
  for (const DatasetIteration& one : set.iterations) {
    if (one.is_noisy) continue;
    const workload::TrainingRun& run = one.steps.run;
    runs.known.push_back(std::make_unique<const NamedExample>(NamedExample{
        one.key, {build_node_graph(run, frequencies), static_cast<double>(run.graph.batch()), metrics_of(one.steps)}}));
  }
  ORRERY_TRY_VOID(draw_parts(runs, input.seed));
  return runs;
}

}  // namespace orrery::lab
