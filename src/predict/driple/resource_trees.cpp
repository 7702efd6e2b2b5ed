#include "predict/driple/resource_trees.h"

#include <algorithm>

namespace orrery::predict {

GraphAggregates aggregates_of(std::span<const ResourceExample* const> examples) {
  std::vector<const BuiltGraph*> graphs;
  for (const ResourceExample* example : examples) graphs.push_back(&example->graph);
  return GraphAggregates(graphs);
}

Features feature_table(const GraphAggregates& aggregates, std::span<const ResourceExample* const> examples) {
  Features features(aggregates.names());
  features.reserve(examples.size());
  for (const ResourceExample* example : examples) features.add(aggregates.row(example->graph, example->batch));
  return features;
}

Result<ResourceTrees> ResourceTrees::fit(std::span<const ResourceExample* const> examples,
                                         const ResourceTreeOptions& options) {
  if (examples.empty()) return Error::invalid("no runs to learn from");
  ResourceTrees model(aggregates_of(examples));
  const Features features = feature_table(model.aggregates_, examples);
  std::vector<double> targets(examples.size());
  for (std::size_t metric = 0; metric < examples.front()->used.size(); ++metric) {
    for (std::size_t i = 0; i < examples.size(); ++i) {
      if (examples[i]->used.size() != examples.front()->used.size()) {
        return Error::invalid("runs with different numbers of metrics");
      }
      targets[i] = examples[i]->used[metric];
    }
    std::vector<BoostedTrees>& repeats = model.metrics_.emplace_back();
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      BoostOptions boost = options.boost;
      boost.seed += static_cast<std::uint64_t>(repeat);
      ORRERY_TRY(repeats.emplace_back(), BoostedTrees::fit(features, targets, {}, boost));
    }
  }
  return model;
}

std::vector<double> ResourceTrees::predict(const ResourceExample& example) const {
  const std::vector<float> row = aggregates_.row(example.graph, example.batch);
  std::vector<double> metrics;
  for (const std::vector<BoostedTrees>& repeats : metrics_) {
    double sum = 0;
    for (const BoostedTrees& trees : repeats) sum += trees.predict(row);
    metrics.push_back(std::max(0.0, sum / static_cast<double>(repeats.size())));
  }
  return metrics;
}

}  // namespace orrery::predict
