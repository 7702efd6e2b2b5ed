#pragma once
// What training jobs use of a GPU, from aggregates of their graphs: boosted trees, one model per metric, averaged over
// a few seeds.

#include "predict/driple/graph_aggregates.h"
#include "predict/learn/boosted_trees.h"

namespace orrery::predict {

// A graph and what its training used; `used` may be empty where it is to be predicted.
struct ResourceExample {
  BuiltGraph graph;
  double batch = 1;
  std::vector<double> used{};
};

struct ResourceTreeOptions {
  BoostOptions boost{.trees = 400, .learning_rate = 0.04, .leaves = 24, .min_rows = 5, .column_share = 0.5};
  int repeats = 2;  // models of other seeds, averaged
};

class ResourceTrees {
 public:
  // All examples must have as many metrics, all finite.
  static Result<ResourceTrees> fit(std::span<const ResourceExample* const> examples,
                                   const ResourceTreeOptions& options);

  // Never below 0.
  std::vector<double> predict(const ResourceExample& example) const;

 private:
  explicit ResourceTrees(GraphAggregates aggregates) : aggregates_(std::move(aggregates)) {}

  GraphAggregates aggregates_;
  std::vector<std::vector<BoostedTrees>> metrics_;  // of each, the repeats
};

// The table the trees learn from.
GraphAggregates aggregates_of(std::span<const ResourceExample* const> examples);
Features feature_table(const GraphAggregates& aggregates, std::span<const ResourceExample* const> examples);

}  // namespace orrery::predict
