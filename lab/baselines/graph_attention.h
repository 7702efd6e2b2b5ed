#pragma once
// A network on the whole graph, in the manner of DNNPerf (Gao et al., ICSE-SEIP 2023): nodes are operators with their
// kind and costs, edges are tensors with their bytes; layers in which edges learn from their ends and nodes by
// attention from their edges (structure "attention" of neural/network.h), then one number per graph, the log of the
// time. Every operator is one node with its forward, backward and update costs.

#include <memory>

#include "lab/lab.h"
#include "predict/measured/measured_dataset.h"
#include "predict/neural/standard_score.h"
#include "predict/neural/trainer.h"

namespace orrery::lab {

class GraphAttention {
 public:
  static Result<GraphAttention> fit(std::span<const DatasetIteration* const> train, std::uint64_t steps,
                                    std::uint64_t seed);

  Result<double> predict(const workload::TrainingRun& run) const;  // seconds

 private:
  GraphAttention(StandardScore nodes, StandardScore edges, StandardScore times, std::unique_ptr<Network> network)
      : nodes_(std::move(nodes)), edges_(std::move(edges)), times_(std::move(times)), network_(std::move(network)) {}

  StandardScore nodes_, edges_, times_;
  std::unique_ptr<Network> network_;
};

}  // namespace orrery::lab
