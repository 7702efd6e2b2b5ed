#include "lab/baselines/graph_totals.h"

#include <cmath>

namespace orrery::lab {

namespace {

std::vector<float> totals_of(const workload::TrainingRun& run) {
  const StepFeatures features(run);
  double prior = 0, flops = 0, bytes = 0;
  for (std::size_t step = 0; step < features.steps().size(); ++step) {
    const auto cost = workload::operator_cost(run.graph, features.steps()[step], run.cost_options());
    prior += features.prior(step);
    flops += cost.flops().value();
    bytes += cost.bytes().value();
  }
  return {static_cast<float>(std::log(prior)),
          static_cast<float>(std::log(flops + 1)),
          static_cast<float>(std::log(bytes + 1)),
          static_cast<float>(features.steps().size()),
          static_cast<float>(run.graph.operators().size()),
          static_cast<float>(std::log(static_cast<double>(run.graph.parameter_count()) + 1)),
          static_cast<float>(run.graph.batch()),
          static_cast<float>(run.optimizer)};
}

}  // namespace

Result<GraphTotals> GraphTotals::fit(std::span<const DatasetIteration* const> train, const BoostOptions& options) {
  Features features({"prior", "flops", "bytes", "steps", "operators", "parameters", "batch", "optimizer"});
  std::vector<double> targets;
  for (const DatasetIteration* one : train) {
    features.add(totals_of(one->steps.run));
    targets.push_back(std::log(one->steps.iteration));
  }
  GraphTotals totals;
  ORRERY_TRY(totals.trees_, BoostedTrees::fit(features, targets, {}, options));
  return totals;
}

double GraphTotals::predict(const workload::TrainingRun& run) const {
  return std::exp(trees_.predict(totals_of(run)));
}

}  // namespace orrery::lab
