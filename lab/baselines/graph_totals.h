#pragma once
// Boosted trees on totals of the graph: what one learns without looking at single operators. Log prior, FLOPs and bytes
// of the iteration, how many steps and operators, parameters, batch, optimizer; the target is the log of the time.

#include "lab/lab.h"
#include "predict/measured/measured_dataset.h"

namespace orrery::lab {

class GraphTotals {
 public:
  static Result<GraphTotals> fit(std::span<const DatasetIteration* const> train, const BoostOptions& options);

  double predict(const workload::TrainingRun& run) const;  // seconds

 private:
  BoostedTrees trees_;
};

}  // namespace orrery::lab
