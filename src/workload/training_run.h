#pragma once
// TrainingRun: a graph and how it is to be trained. What every predictor takes.

#include "base/precision.h"
#include "workload/cost.h"
#include "workload/graph.h"

namespace orrery::workload {

// How data-parallel replicas agree on gradients.
enum class GradientExchange { kRing, kTree, kHierarchical, kParameterServer };
std::string_view to_string(GradientExchange exchange);
Result<GradientExchange> parse_exchange(std::string_view name);

struct Parallelism {
  int data = 1;          // replicas
  int tensor = 1;        // devices that share each matrix product
  int pipeline = 1;      // stages
  int microbatches = 1;  // per step, with a pipeline or for accumulation
  int zero_stage = 0;    // 1: optimizer states, 2: + gradients, 3: + parameters spread over the replicas
  GradientExchange exchange = GradientExchange::kRing;
  int servers = 1;  // of a parameter-server exchange

  int devices() const { return data * tensor * pipeline; }
  bool operator==(const Parallelism&) const = default;
};

struct TrainingRun {
  TrainingGraph graph;  // its batch is the samples one replica handles per step
  Optimizer optimizer = Optimizer::kMomentum;
  Precision precision = Precision::kFp32;
  Parallelism parallelism = {};
  double steps = 1;

  std::int64_t global_batch() const { return graph.batch() * parallelism.data; }
  CostOptions cost_options() const;
};

// Checks that the degrees are positive, the batch divides into micro-batches and the stages do not outnumber operators.
Status validate(const TrainingRun& run);

}  // namespace orrery::workload
