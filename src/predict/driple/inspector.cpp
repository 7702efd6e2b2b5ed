#include "predict/driple/inspector.h"

#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

using Eigen::Index;
using Eigen::MatrixXf;
using Eigen::RowVectorXf;
using Eigen::VectorXf;

constexpr float kSlope = 0.01F;

template <class Values>
auto leaky(const Values& values) {
  return values.max(kSlope * values);
}
template <class Values>
auto sigmoid(const Values& values) {
  return (1 + (-values).exp()).inverse();
}

// Takes tensors out of a checkpoint, row by row as they are stored.
class Tensors {
 public:
  explicit Tensors(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  Result<const CheckpointTensor*> find(const std::string& name, const std::vector<std::int64_t>& shape) {
    const auto found = checkpoint_.find(name);
    if (found == checkpoint_.end()) return Error::invalid(fmt::format("the weights lack {}", name));
    if (found->second.shape != shape) {
      return Error::invalid(
          fmt::format("{} has the shape {}, not {}", name, fmt::join(found->second.shape, "x"), fmt::join(shape, "x")));
    }
    taken += found->second.values.size();
    return &found->second;
  }

  // in × out, from a tensor of out × in if `is_turned`.
  Result<MatrixXf> matrix(const std::string& name, Index in, Index out, bool is_turned) {
    ORRERY_TRY(const CheckpointTensor* tensor,
               find(name, is_turned ? std::vector<std::int64_t>{out, in} : std::vector<std::int64_t>{in, out}));
    using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const Rows> rows(tensor->values.data(), is_turned ? out : in, is_turned ? in : out);
    if (is_turned) return MatrixXf(rows.transpose());
    return MatrixXf(rows);
  }

  Result<RowVectorXf> vector(const std::string& name, Index size) {
    ORRERY_TRY(const CheckpointTensor* tensor, find(name, {size}));
    return RowVectorXf(Eigen::Map<const RowVectorXf>(tensor->values.data(), size));
  }

  std::size_t taken = 0;

 private:
  const Checkpoint& checkpoint_;
};

// Â x without forming Â.
class Spread {
 public:
  explicit Spread(const NodeGraph& graph) : edges_(graph.edges), scale_(graph.nodes.size(), 1.0F) {
    for (const auto& [a, b] : edges_) {
      ++scale_[a];
      ++scale_[b];
    }
    for (float& scale : scale_) scale = 1 / std::sqrt(scale);
  }

  // One column per node: a node's values are contiguous.
  MatrixXf operator()(const MatrixXf& x) const {
    MatrixXf result(x.rows(), x.cols());
    for (std::size_t i = 0; i < scale_.size(); ++i) {
      const auto node = static_cast<Index>(i);
      result.col(node) = x.col(node) * (scale_[i] * scale_[i]);
    }
    for (const auto& [a, b] : edges_) {
      const float along = scale_[a] * scale_[b];
      result.col(a) += along * x.col(b);
      result.col(b) += along * x.col(a);
    }
    return result;
  }

 private:
  const std::vector<GraphEdge>& edges_;
  std::vector<float> scale_;
};

MatrixXf features_of(const NodeGraph& graph) {
  MatrixXf features(static_cast<Index>(graph.nodes.size()), static_cast<Index>(kInspectorFeatures));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    features.row(static_cast<Index>(i)) << static_cast<float>(node.tensor_size), static_cast<float>(node.count),
        static_cast<float>(node.type);
  }
  return features;
}

}  // namespace

Result<Inspector> Inspector::make(const Checkpoint& checkpoint) {
  const auto bias = checkpoint.find("conv_layers.0.b");
  const auto answers = checkpoint.find("graph_read_out.mlp.fully_connected.2.linear.bias");
  if (bias == checkpoint.end() || answers == checkpoint.end() || bias->second.values.empty() ||
      answers->second.values.empty() || bias->second.values.size() < kInspectorFeatures) {
    return Error::invalid("these are not the weights of an inspector: no graph layer or no last layer");
  }
  Tensors tensors(checkpoint);
  Inspector inspector;
  const auto hidden = static_cast<Index>(bias->second.values.size());
  const auto outputs = static_cast<Index>(answers->second.values.size());
  inspector.hidden_ = hidden;
  const auto take = [&](Linear& part, const std::string& weight, const std::string& vector, Index in, Index out,
                        bool is_turned) -> Status {
    ORRERY_TRY(part.weight, tensors.matrix(weight, in, out, is_turned));
    ORRERY_TRY(part.bias, tensors.vector(vector, out));
    return {};
  };
  const std::string gru = "gru.gru.", lstm = "graph_read_out.set2set.lstm.";
  ORRERY_TRY_VOID(take(inspector.first_, "conv_layers.0.W", "conv_layers.0.b", kInspectorFeatures, hidden, false));
  ORRERY_TRY_VOID(take(inspector.further_, "conv_layers.1.W", "conv_layers.1.b", hidden, hidden, false));
  ORRERY_TRY_VOID(take(inspector.gru_input_, gru + "weight_ih_l0", gru + "bias_ih_l0", hidden, 3 * hidden, true));
  ORRERY_TRY_VOID(take(inspector.gru_state_, gru + "weight_hh_l0", gru + "bias_hh_l0", hidden, 3 * hidden, true));
  ORRERY_TRY_VOID(
      take(inspector.lstm_input_, lstm + "weight_ih_l0", lstm + "bias_ih_l0", 2 * hidden, 4 * hidden, true));
  ORRERY_TRY_VOID(take(inspector.lstm_state_, lstm + "weight_hh_l0", lstm + "bias_hh_l0", hidden, 4 * hidden, true));
  const Index widths[] = {2 * hidden, hidden, hidden, outputs};
  for (int i = 0; i < 3; ++i) {
    const std::string name = fmt::format("graph_read_out.mlp.fully_connected.{}.linear.", i);
    ORRERY_TRY_VOID(
        take(inspector.mlp_.emplace_back(), name + "weight", name + "bias", widths[i], widths[i + 1], true));
  }
  inspector.parameters_ = tensors.taken;
  return inspector;
}

MatrixXf Inspector::gru(const MatrixXf& x, const MatrixXf& y) const {
  MatrixXf input = x * gru_input_.weight.topRows(x.cols());  // absent columns are zeros
  input.rowwise() += gru_input_.bias;
  MatrixXf state = y * gru_state_.weight;
  state.rowwise() += gru_state_.bias;
  const Index h = hidden_;
  const auto gate = [&](const MatrixXf& of, Index number) { return of.middleCols(number * h, h).array(); };
  const Eigen::ArrayXXf r = sigmoid(gate(input, 0) + gate(state, 0));
  const Eigen::ArrayXXf z = sigmoid(gate(input, 1) + gate(state, 1));
  const Eigen::ArrayXXf n = (gate(input, 2) + r * gate(state, 2)).tanh();
  return ((1 - z) * n + z * y.array()).matrix();
}

VectorXf Inspector::read_out(const MatrixXf& x) const {
  const Index h = hidden_;
  const MatrixXf input_weight = lstm_input_.weight.transpose(), state_weight = lstm_state_.weight.transpose();
  const VectorXf bias = (lstm_input_.bias + lstm_state_.bias).transpose();
  VectorXf both = VectorXf::Zero(2 * h), q = VectorXf::Zero(h);
  Eigen::ArrayXf cell = Eigen::ArrayXf::Zero(h);
  for (Index step = 0; step < x.rows(); ++step) {
    const Eigen::ArrayXf gates = (input_weight * both + state_weight * q + bias).array();
    const Eigen::ArrayXf in = sigmoid(gates.segment(0, h)), forget = sigmoid(gates.segment(h, h));
    const Eigen::ArrayXf out = sigmoid(gates.segment(3 * h, h));
    cell = forget * cell + in * gates.segment(2 * h, h).tanh();
    q = (out * cell.tanh()).matrix();
    const VectorXf scores = x * q;
    VectorXf share = (scores.array() - scores.maxCoeff()).exp().matrix();
    share /= share.sum();
    both << q, x.transpose() * share;
  }
  return both;
}

Result<Inspector::Steps> Inspector::run(const NodeGraph& graph) const {
  if (graph.nodes.empty() || graph.nodes.size() > kInspectorNodesMax) {
    return Error::invalid(fmt::format("an inspector reads 1 to {} nodes, not {}; group them first", kInspectorNodesMax,
                                      graph.nodes.size()));
  }
  const Spread spread(graph);
  Steps steps;
  steps.layers = std::max<std::size_t>(1, graph.nodes.size() / 2);
  MatrixXf x = features_of(graph);
  for (std::size_t layer = 0; layer < steps.layers; ++layer) {
    const Linear& part = layer == 0 ? first_ : further_;
    MatrixXf y = spread(x.transpose()).transpose() * part.weight;
    y.rowwise() += part.bias;
    y = leaky(y.array()).matrix().eval();
    x = gru(x, y);
    if (layer == 0) steps.first = x;
    if (layer == 1) steps.second = x;
  }
  steps.readout = read_out(x);
  RowVectorXf value = steps.readout.transpose();
  for (std::size_t i = 0; i < mlp_.size(); ++i) {
    const RowVectorXf sum = value * mlp_[i].weight + mlp_[i].bias;
    value = i + 1 < mlp_.size() ? RowVectorXf(sum.cwiseMax(0)) : RowVectorXf(leaky(sum.array()).matrix());
  }
  steps.answer = value.transpose();
  steps.last = std::move(x);
  return steps;
}

Result<std::vector<double>> Inspector::predict(const NodeGraph& graph) const {
  ORRERY_TRY(const Steps steps, run(graph));
  return std::vector<double>(steps.answer.begin(), steps.answer.end());
}

}  // namespace orrery::predict
