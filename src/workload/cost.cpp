#include "workload/cost.h"

#include "workload/traits.h"

namespace orrery::workload {

namespace {

bool is_recurrent(OperatorKind kind) {
  return kind == OperatorKind::kRnn || kind == OperatorKind::kLstm || kind == OperatorKind::kGru;
}

double elements(const TensorType& type) {
  return static_cast<double>(type.shape.elements());
}

double recurrent_macs(const TrainingGraph& graph, const Operator& op) {
  const Shape& x = graph.type(op.inputs[0]).shape;
  double weights = 0;
  for (const Parameter& parameter : op.parameters) {
    if (parameter.shape.rank() == 2) weights += static_cast<double>(parameter.shape.elements());
  }
  return weights * static_cast<double>(x[0]) * static_cast<double>(x[1]);
}

// Elements of parameters and of tied weights: what the operator reads, owned or not.
double parameters_read(const TrainingGraph& graph, const Operator& op) {
  double total = static_cast<double>(parameter_elements(op));
  if (op.tied_to.valid()) total += static_cast<double>(graph[op.tied_to].parameters[0].shape.elements());
  // A lookup touches the rows it needs, not the table.
  const bool is_lookup = op.kind == OperatorKind::kEmbedding || op.kind == OperatorKind::kEmbeddingBag;
  return is_lookup ? 0 : total;
}

double sequential_steps(const TrainingGraph& graph, const Operator& op) {
  const auto* recurrent = std::get_if<RecurrentAttributes>(&op.attributes);
  if (recurrent == nullptr) return 1;
  return static_cast<double>(recurrent->layers * graph.type(op.inputs[0]).shape[1]);
}

// The items that the per-element values of a phase in the traits table count: outputs, or inputs for reductions.
double work_elements(const TrainingGraph& graph, const Operator& op) {
  const OperatorTraits& t = traits(op.kind);
  if (is_recurrent(op.kind))
    return elements(op.outputs[0]) * static_cast<double>(std::get<RecurrentAttributes>(op.attributes).layers);
  if (t.op_class == OperatorClass::kReduction && !op.inputs.empty()) {
    double work = elements(graph.type(op.inputs[0]));
    const auto* pool = std::get_if<PoolAttributes>(&op.attributes);
    if (pool != nullptr) {
      work = elements(op.outputs[0]) * static_cast<double>(pool->window.kernel_h * pool->window.kernel_w);
    }
    return work;
  }
  return elements(op.outputs[0]);
}

// Adds a tensor that is read or written: to `activations` if it grows with the batch, else to the parameters.
void count(OperatorCost& cost, Bytes OperatorCost::*activations, const TrainingGraph& graph, Value value,
           const CostOptions& options) {
  Bytes& sum = graph.is_per_sample(value.op) ? cost.*activations : cost.parameters;
  sum += tensor_bytes(graph.type(value), options.activation_bytes);
}

OperatorCost forward_cost(const TrainingGraph& graph, OperatorIndex at, const CostOptions& options) {
  const Operator& op = graph[at];
  const OperatorTraits& t = traits(op.kind);
  OperatorCost cost;
  if (t.op_class == OperatorClass::kView || op.kind == OperatorKind::kInput || op.kind == OperatorKind::kParameter) {
    return cost;
  }
  cost.matrix_flops = Flops(2 * forward_macs(graph, op));
  cost.vector_flops = Flops(t.forward_flops * work_elements(graph, op));
  const auto* conv = std::get_if<ConvAttributes>(&op.attributes);
  const auto* linear = std::get_if<LinearAttributes>(&op.attributes);
  const bool has_bias = (conv != nullptr && conv->bias) || (linear != nullptr && linear->bias);
  if (has_bias) cost.vector_flops += Flops(elements(op.outputs[0]));
  cost.parameters = Bytes(parameters_read(graph, op) * options.parameter_bytes);
  const bool picks = op.kind == OperatorKind::kIndex;  // reads only what it writes
  for (int pass = 0; pass < t.reads; ++pass) {
    for (const Value& input : op.inputs) {
      count(cost, &OperatorCost::read, graph, picks ? Value{at, 0} : input, options);
    }
  }
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(op.outputs.size()); ++i) {
    count(cost, &OperatorCost::written, graph, {at, i}, options);
  }
  if (op.kind == OperatorKind::kEmbedding || op.kind == OperatorKind::kEmbeddingBag) cost.read += cost.written;
  cost.sequential = sequential_steps(graph, op);
  cost.kernels = t.forward_kernels * cost.sequential;
  return cost;
}

// Gradients from several users of an operator's output are added, each but the first by a kernel of its own.
void add_up_gradients(const TrainingGraph& graph, OperatorIndex at, const CostOptions& options, OperatorCost& cost) {
  for (int extra = 1; extra < graph.gradient_uses(at); ++extra) {
    count(cost, &OperatorCost::read, graph, {at, 0}, options);
    count(cost, &OperatorCost::read, graph, {at, 0}, options);
    count(cost, &OperatorCost::written, graph, {at, 0}, options);
    cost.kernels += 1;
  }
}

OperatorCost backward_cost(const TrainingGraph& graph, OperatorIndex at, const CostOptions& options) {
  const Operator& op = graph[at];
  const OperatorTraits& t = traits(op.kind);
  OperatorCost cost;
  add_up_gradients(graph, at, options, cost);
  if (t.backward_kernels == 0) return cost;
  double inputs_with_gradient = 0;
  for (const Value& input : op.inputs) {
    if (!graph.needs_gradient(input.op)) continue;
    inputs_with_gradient += 1;
    count(cost, &OperatorCost::written, graph, input, options);
  }
  const bool has_weight = graph.trains_weight(at);
  const double macs = forward_macs(graph, op);
  if (macs > 0) {
    // One product per gradient: with a weight that is trained, those of input and weight; without, of each operand.
    const double products = has_weight ? (inputs_with_gradient > 0 ? 2 : 1) : inputs_with_gradient;
    // Attention recomputes the scores it did not keep.
    const double recomputed = op.kind == OperatorKind::kAttention ? 0.5 : 0;
    const double pairs = op.kind == OperatorKind::kAttention ? 2 : products;
    cost.matrix_flops = Flops(2 * macs * (pairs + recomputed));
  }
  cost.vector_flops = Flops(t.backward_flops * work_elements(graph, op));
  // A product needs the output's gradient for each of its two gradients.
  const bool is_one_product = (!op.parameters.empty() || op.tied_to.valid()) && !has_weight;
  const int passes = macs > 0 && inputs_with_gradient > 0 && !is_one_product ? 2 : t.reads;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(op.outputs.size()); ++i) {
      count(cost, &OperatorCost::read, graph, {at, i}, options);
    }
  }
  if (t.saves_output) count(cost, &OperatorCost::read, graph, {at, 0}, options);
  for (int pass = 0; t.saves_inputs && pass < t.reads; ++pass) {
    for (const Value& input : op.inputs) count(cost, &OperatorCost::read, graph, input, options);
  }
  cost.read += saved_extra(graph, op, options);
  // Reads the weight for the input's gradient and writes the weight's gradient, if there is one.
  cost.parameters += Bytes((has_weight ? 2 : 1) * parameters_read(graph, op) * options.parameter_bytes);
  cost.sequential = sequential_steps(graph, op);
  cost.kernels += t.backward_kernels * cost.sequential;
  if (op.kind == OperatorKind::kEmbedding || op.kind == OperatorKind::kEmbeddingBag) {
    // A dense gradient is cleared, then the touched rows are added to.
    cost.parameters += Bytes(static_cast<double>(parameter_elements(op)) * options.parameter_bytes);
  }
  return cost;
}

OperatorCost update_cost(const Operator& op, const CostOptions& options) {
  const OptimizerTraits& optimizer = traits(options.optimizer);
  const auto count = static_cast<double>(parameter_elements(op));
  OperatorCost cost;
  cost.vector_flops = Flops(optimizer.flops_per_parameter * count);
  cost.parameters = Bytes(optimizer.bytes_moved() * count);
  cost.kernels = optimizer.kernels * static_cast<double>(op.parameters.size());
  return cost;
}

}  // namespace

Bytes tensor_bytes(const TensorType& type, double float_bytes) {
  const double each = is_floating(type.dtype) ? float_bytes : static_cast<double>(size_in_bytes(type.dtype));
  return Bytes(elements(type) * each);
}

double forward_macs(const TrainingGraph& graph, const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kConv2d: {
      const Shape& weight = op.parameters[0].shape;
      return elements(op.outputs[0]) * static_cast<double>(weight[1] * weight[2] * weight[3]);
    }
    case OperatorKind::kConvTranspose2d: {
      const Shape& weight = op.parameters[0].shape;
      return elements(graph.type(op.inputs[0])) * static_cast<double>(weight[1] * weight[2] * weight[3]);
    }
    case OperatorKind::kLinear:
    case OperatorKind::kMatmul:
      return elements(op.outputs[0]) * static_cast<double>(graph.type(op.inputs[0]).shape[-1]);
    case OperatorKind::kAttention: {
      const Shape& query = graph.type(op.inputs[0]).shape;
      const Shape& value = graph.type(op.inputs[2]).shape;
      const double scores = static_cast<double>(query[0] * query[1] * query[2]) * static_cast<double>(value[2]);
      return scores * static_cast<double>(query[3] + value[3]);
    }
    case OperatorKind::kRnn:
    case OperatorKind::kLstm:
    case OperatorKind::kGru:
      return recurrent_macs(graph, op);
    default:
      return 0;
  }
}

Bytes saved_extra(const TrainingGraph& graph, const Operator& op, const CostOptions& options) {
  const OperatorTraits& t = traits(op.kind);
  if (t.op_class == OperatorClass::kView || op.outputs.empty()) return Bytes(0);
  if (is_recurrent(op.kind)) {
    // Gate activations and cell states of every layer and step.
    const auto& a = std::get<RecurrentAttributes>(op.attributes);
    const double per_hidden = op.kind == OperatorKind::kLstm ? 6 : op.kind == OperatorKind::kGru ? 5 : 1;
    return Bytes(elements(op.outputs[0]) * static_cast<double>(a.layers) * per_hidden * options.activation_bytes);
  }
  // Losses keep the log-probabilities.
  if (op.kind == OperatorKind::kCrossEntropy) return tensor_bytes(graph.type(op.inputs[0]), options.activation_bytes);
  return Bytes(t.saved_bytes_per_output * elements(op.outputs[0]));
}

OperatorCost operator_cost(const TrainingGraph& graph, PhaseStep step, const CostOptions& options) {
  switch (step.phase) {
    case Phase::kForward:
      return forward_cost(graph, step.op, options);
    case Phase::kBackward:
      return backward_cost(graph, step.op, options);
    case Phase::kUpdate:
      return update_cost(graph[step.op], options);
  }
  return {};
}

}  // namespace orrery::workload
