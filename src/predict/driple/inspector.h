#pragma once
// Driple's inspector: twelve metrics of resource use from a graph, exactly as the published network computes them
// (Yang et al., "Prediction of the Resource Consumption of Distributed Deep Learning Systems", POMACS 2022).
//
// With A the adjacency, M nodes, h hidden values and K = ⌊M/2⌋ (at least 1) graph layers:
//
//   Â = D^-1/2 (A + I) D^-1/2, D the row sums of A + I
//   y = LeakyReLU(Â x W + b)                        W, b: the first layer's, then one pair for all further layers
//   r = σ(Wir x + bir + Whr y + bhr)                one GRU cell for all; its input is the layer's input (zeros behind
//   z = σ(Wiz x + biz + Whz y + bhz)                the three features), its state the layer's output
//   n = tanh(Win x + bin + r ∘ (Whn y + bhn))
//   x ← (1 − z) ∘ n + z ∘ y
//
//   M times: q = LSTM([q, s]); a = softmax over nodes of x·q; s = Σ a x         (Set2Set, Vinyals et al. 2016)
//   answer = LeakyReLU(W3 relu(W2 relu(W1 [q, s] + b1) + b2) + b3)              slope 0.01
//
// Answers are shares of the largest value seen in training, which the published weights do not tell. Not clamped.
// O(K · (edges h + M h²) + M (h² + M h)).

#include <Eigen/Core>

#include "predict/driple/checkpoint.h"
#include "predict/driple/node_graph.h"

namespace orrery::predict {

inline constexpr std::size_t kInspectorFeatures = 3;
inline constexpr std::size_t kInspectorNodesMax = 10'000;

class Inspector {
 public:
  // The tensors by their published names; the error names one that is missing or has another shape.
  static Result<Inspector> make(const Checkpoint& checkpoint);

  // Intermediate values, for comparison with other implementations.
  struct Steps {
    std::size_t layers = 0;
    Eigen::MatrixXf first, second, last;  // nodes × hidden after these layers; second is empty if there is one
    Eigen::VectorXf readout;              // [q, s]
    Eigen::VectorXf answer;
  };
  // Features in the order tensor size, count, type, as they are. Fails without nodes and beyond kInspectorNodesMax.
  Result<Steps> run(const NodeGraph& graph) const;
  Result<std::vector<double>> predict(const NodeGraph& graph) const;

  std::size_t outputs() const { return static_cast<std::size_t>(mlp_.back().bias.size()); }
  std::size_t parameters() const { return parameters_; }

 private:
  struct Linear {
    Eigen::MatrixXf weight;  // in × out
    Eigen::RowVectorXf bias;
  };

  Eigen::MatrixXf gru(const Eigen::MatrixXf& x, const Eigen::MatrixXf& y) const;
  Eigen::VectorXf read_out(const Eigen::MatrixXf& x) const;

  Eigen::Index hidden_ = 0;
  std::size_t parameters_ = 0;
  Linear first_, further_;
  Linear gru_input_, gru_state_;    // gates r, z, n side by side
  Linear lstm_input_, lstm_state_;  // gates i, f, g, o side by side
  std::vector<Linear> mlp_;
};

}  // namespace orrery::predict
