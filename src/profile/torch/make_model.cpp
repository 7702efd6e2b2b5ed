// Parameters, inputs and targets from a seed.

#include <cmath>
#include <fmt/format.h>

#include "profile/torch/model.h"
#include "workload/traits.h"

namespace orrery::profile {

using workload::Operator;
using workload::OperatorIndex;
using workload::OperatorKind;
using enum workload::OperatorKind;

namespace {

bool is_norm(OperatorKind kind) {
  return kind == kBatchNorm || kind == kLayerNorm || kind == kGroupNorm || kind == kRmsNorm;
}

// He's scale for what multiplies, small numbers for tables, ones and zeros for norms and biases.
at::Tensor initial_value(const Operator& op, const workload::Parameter& parameter, const at::TensorOptions& floats) {
  const auto dims = dims_of(parameter.shape);
  if (parameter.shape.rank() < 2 && op.kind != kParameter) {
    return is_norm(op.kind) && parameter.name == "weight" ? at::ones(dims, floats) : at::zeros(dims, floats);
  }
  if (op.kind == kParameter || op.kind == kEmbedding || op.kind == kEmbeddingBag) {
    return at::randn(dims, floats).mul_(0.02);
  }
  const double fan_in = static_cast<double>(parameter.shape.elements()) / static_cast<double>(parameter.shape[0]);
  return at::randn(dims, floats).mul_(std::sqrt(2.0 / fan_in));
}

std::vector<at::Tensor> make_parameters(const Operator& op, const at::TensorOptions& floats) {
  std::vector<at::Tensor> parameters;
  for (const workload::Parameter& parameter : op.parameters) {
    parameters.push_back(initial_value(op, parameter, floats).set_requires_grad(!op.frozen));
  }
  return parameters;
}

// Which element of the input each element of the output of kIndex is. Any table costs the same.
at::Tensor index_table(const workload::TrainingGraph& graph, const Operator& op, const at::TensorOptions& floats) {
  const auto& attributes = std::get<workload::IndexAttributes>(op.attributes);
  const bool keeps_batch = !attributes.dims.empty() && attributes.dims[0] == 0;
  const std::int64_t batch = keeps_batch ? op.outputs[0].shape[0] : 1;
  const std::int64_t from = graph.type(op.inputs[0]).shape.elements() / batch;
  const std::int64_t to = op.outputs[0].shape.elements() / batch;
  return at::arange(to, floats.dtype(at::kLong)).remainder(from);
}

std::vector<at::Tensor> make_buffers(const workload::TrainingGraph& graph, const Operator& op,
                                     const at::TensorOptions& floats) {
  if (op.kind == kBatchNorm) {
    const std::int64_t channels = op.outputs[0].shape[1];
    return {at::zeros({channels}, floats), at::ones({channels}, floats)};
  }
  if (op.kind == kIndex) return {index_table(graph, op, floats)};
  return {};
}

// One more than the largest index each operator's integers may have: the rows of the tables they pick from.
workload::ByOperator<std::int64_t> index_limits(const workload::TrainingGraph& graph) {
  constexpr std::int64_t kNoTable = 2;
  workload::ByOperator<std::int64_t> limits(graph.operators().size(), 0);
  for (const OperatorIndex at : limits.indices().reversed()) {
    const Operator& op = graph[at];
    const auto* table = std::get_if<workload::EmbeddingAttributes>(&op.attributes);
    const std::int64_t limit = table != nullptr ? table->rows : limits[at];
    for (const workload::Value& input : op.inputs) {
      std::int64_t& known = limits[input.op];
      if (limit > 0) known = known == 0 ? limit : std::min(known, limit);
    }
  }
  for (std::int64_t& limit : limits) limit = limit == 0 ? kNoTable : limit;
  return limits;
}

at::Tensor make_source(const Operator& op, std::int64_t index_limit, const at::TensorOptions& floats) {
  const workload::TensorType& type = op.outputs[0];
  if (is_floating(type.dtype)) return at::randn(dims_of(type.shape), floats);
  return at::randint(index_limit, dims_of(type.shape), floats.dtype(at::kLong));
}

// A loss compares with its second input, or with data that is made here.
at::Tensor make_target(const workload::TrainingGraph& graph, const Operator& op, const at::TensorOptions& floats) {
  const workload::Shape& x = graph.type(op.inputs[0]).shape;
  if (op.kind == kMeanSquaredError) return at::randn(dims_of(x), floats);
  if (op.kind == kBinaryCrossEntropy) return at::rand(dims_of(x), floats);
  const bool is_image = x.rank() == 4;
  const std::int64_t classes = x.rank() == 0 ? 1 : is_image ? x[1] : x[-1];
  return at::randint(classes, {x.elements() / classes}, floats.dtype(at::kLong));
}

bool is_loss(OperatorKind kind) {
  return kind == kCrossEntropy || kind == kMeanSquaredError || kind == kBinaryCrossEntropy;
}

workload::ByOperator<std::vector<OperatorIndex>> find_last_uses(const workload::TrainingGraph& graph) {
  workload::ByOperator<std::vector<OperatorIndex>> last_uses(graph.operators().size());
  workload::ByOperator<bool> seen(graph.operators().size(), false);
  for (const OperatorIndex at : last_uses.indices().reversed()) {
    for (const workload::Value& input : graph[at].inputs) {
      if (!seen[input.op]) last_uses[at].push_back(input.op);
      seen[input.op] = true;
    }
  }
  return last_uses;
}

}  // namespace

Result<Model> make_model(const workload::TrainingGraph& graph, at::TensorOptions floats, bool is_random,
                         std::uint64_t seed) {
  at::manual_seed(seed);
  Model model{graph, floats, is_random, {}, {}, {}, {}, find_last_uses(graph)};
  const auto limits = index_limits(graph);
  for (const OperatorIndex at : graph.operators().indices()) {
    const Operator& op = graph[at];
    if (op.kind == kOther) {
      const auto& type = std::get<workload::OtherAttributes>(op.attributes).type;
      return Error::unsupported(fmt::format("operator {} ({}) has no rule, so it cannot be run", op.name, type));
    }
    model.parameters.push_back(make_parameters(op, floats));
    model.buffers.push_back(make_buffers(graph, op, floats));
    model.sources.push_back(op.kind == kInput ? make_source(op, limits[at], floats) : at::Tensor());
    model.targets.push_back(is_loss(op.kind) && op.inputs.size() == 1 ? make_target(graph, op, floats) : at::Tensor());
  }
  return model;
}

}  // namespace orrery::profile
