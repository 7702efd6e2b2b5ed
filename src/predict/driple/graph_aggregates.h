#pragma once
// A graph as one row of numbers, for regressions: counts, sizes and work of its operators.
//
// With w the work of an operator (batch × elements of the variables beside it, multiply-accumulates of one pass):
//
//   sizes    logarithms of the batch, of the sums, means and largest of operators' and variables' tensors, of the first
//            and the last operator's
//   spread   how many operators', variables' tensors and works lie in each of a row of ranges, a factor of four wide
//   filling  Σ w / Σ max(w, c): the share of time a device is busy that handles one operator in no less than c work,
//            for several c
//   kinds    how many nodes have each operator of the vocabulary, which is learned

#include <map>
#include <span>
#include <string>
#include <vector>

#include "predict/driple/node_graph.h"
#include "predict/learn/features.h"

namespace orrery::predict {

class GraphAggregates {
 public:
  // The vocabulary: every operator of these graphs, at most kOpsMax of the most common ones.
  static constexpr std::size_t kOpsMax = 64;
  explicit GraphAggregates(std::span<const BuiltGraph* const> graphs);

  const std::vector<std::string>& names() const { return names_; }
  std::vector<float> row(const BuiltGraph& graph, double batch) const;

 private:
  std::map<std::string, std::size_t, std::less<>> vocabulary_;  // place among the kinds
  std::vector<std::string> names_;
};

}  // namespace orrery::predict
