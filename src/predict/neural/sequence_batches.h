#pragma once
// Iterations as batches of a network: windows of operators, or whole iterations as graphs.

#include "predict/neural/sequence_model.h"

namespace orrery::predict {

inline constexpr std::size_t kSequenceOutputs = 2;  // execution, gap

float to_target(double microseconds, TargetForm form);
double from_target(double target, TargetForm form);

// Adds operators of iterations to a batch, as scores. `weights` must outlive it; of them only what is known before
// training is used.
class SequenceBatcher {
 public:
  explicit SequenceBatcher(const SequenceWeights& weights) : weights_(weights) {}

  // Rows `start` to `start` + the network's length, padded at the end; with the targets of those that are real.
  void add_window(const LaunchTrace& trace, std::size_t start, NetworkBatch& batch) const;
  // The whole iteration with its edges.
  void add_graph(const LaunchTrace& trace, NetworkBatch& batch) const;

 private:
  void add_row(const LaunchTrace& trace, std::size_t row, NetworkBatch& batch) const;
  void add_padding(NetworkBatch& batch) const;

  const SequenceWeights& weights_;
};

}  // namespace orrery::predict
