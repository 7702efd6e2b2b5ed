#include "predict/measured/step_features.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "predict/learn/features.h"
#include "workload/traits.h"

namespace orrery::predict {

namespace {

using workload::Operator;
using workload::OperatorClass;
using workload::OperatorKind;
using workload::Phase;

constexpr double kSmallestKernel = 2e-6;  // seconds

// A product of matrices: rows × columns over a depth, `count` of them, and a convolution's window.
struct Product {
  double rows = 0, columns = 0, depth = 0, count = 1;
  double filter = 0, filter_width = 0, stride = 0, side = 0;
};

Product product_of(const workload::TrainingGraph& graph, const Operator& op) {
  Product product;
  const double macs = workload::forward_macs(graph, op);
  if (macs <= 0 || op.outputs.empty()) return product;
  const auto& shape = op.outputs.front().shape;
  const auto elements = static_cast<double>(shape.elements());
  if (const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes)) {
    product.count = static_cast<double>(conv->groups);
    product.columns = static_cast<double>(conv->out_channels) / product.count;
    product.filter = static_cast<double>(conv->window.kernel_h);
    product.filter_width = static_cast<double>(conv->window.kernel_w);
    product.stride = static_cast<double>(conv->window.stride_h);
    product.side = static_cast<double>(shape[-1]);
  } else {
    product.columns = shape.rank() == 0 ? 1 : static_cast<double>(shape[-1]);
  }
  product.rows = elements / std::max(1.0, product.columns * product.count);
  product.depth = macs / elements;
  return product;
}

double elements_of(const Operator& op) {
  double elements = 0;
  for (const workload::TensorType& type : op.outputs) elements += static_cast<double>(type.shape.elements());
  return elements;
}

}  // namespace

StepScale scale_of(const hardware::Device& device) {
  if (device.kind == hardware::DeviceKind::kCpu) return {};
  return {device.fp32.value(), device.memory_bandwidth.value(), kSmallestKernel};
}

StepFeatures::StepFeatures(const workload::TrainingRun& run, const StepScale& scale)
    : run_(run), scale_(scale), steps_(run.graph.execution_order()) {
  costs_.reserve(steps_.size());
  for (const workload::PhaseStep& step : steps_) {
    costs_.push_back(workload::operator_cost(run.graph, step, run.cost_options()));
    traffic_ += costs_.back().bytes().value();
    if (step.phase == Phase::kForward) parameters_ += costs_.back().parameters.value();
  }
}

StepGroup StepFeatures::group(std::size_t step) const {
  if (steps_[step].phase == Phase::kUpdate) return StepGroup::kMemory;
  if (std::holds_alternative<workload::RecurrentAttributes>(op(step).attributes)) return StepGroup::kRecurrence;
  if (const auto* conv = std::get_if<workload::ConvAttributes>(&op(step).attributes)) {
    return conv->groups > 1 ? StepGroup::kGroupedConvolution : StepGroup::kConvolution;
  }
  return workload::traits(op(step).kind).op_class == OperatorClass::kMatrix ? StepGroup::kProduct : StepGroup::kMemory;
}

double StepFeatures::prior(std::size_t step) const {
  const workload::OperatorCost& cost = costs_[step];
  const double calls = group(step) == StepGroup::kRecurrence ? std::max(1.0, cost.kernels) : 1;
  return calls * scale_.call + cost.flops().value() / scale_.flops_per_second +
         cost.bytes().value() / scale_.bytes_per_second;
}

std::vector<std::string> StepFeatures::size_names(StepGroup group) {
  if (group != StepGroup::kRecurrence) return operator_size_names();
  return {"steps", "batch", "features", "hidden", "layers", "step_macs", "flops", "bytes", "small"};
}

std::vector<std::string> StepFeatures::operator_size_names() {
  return {"matrix_flops", "vector_flops", "read",  "written", "parameters", "rows",
          "columns",      "depth",        "count", "filter",  "small"};
}

// Of one layer in one direction: its time steps are what the others wait for.
void StepFeatures::recurrence_sizes(std::size_t step, std::vector<float>& out) const {
  const workload::OperatorCost& cost = costs_[step];
  const auto& recurrence = std::get<workload::RecurrentAttributes>(op(step).attributes);
  const auto& input = run_.graph.type(op(step).inputs[0]).shape;
  const auto batch = static_cast<double>(input[0]), hidden = static_cast<double>(recurrence.hidden);
  const auto layers = static_cast<double>(recurrence.layers * (recurrence.bidirectional ? 2 : 1));
  out.assign({log_size(static_cast<double>(input[1])), log_size(batch), log_size(static_cast<double>(input[-1])),
              log_size(hidden), log_size(layers), log_size(batch * hidden * hidden), log_size(cost.flops().value()),
              log_size(cost.bytes().value()), static_cast<float>(scale_.call * cost.kernels / prior(step))});
}

void StepFeatures::sizes(std::size_t step, std::vector<float>& out) const {
  if (group(step) == StepGroup::kRecurrence) return recurrence_sizes(step, out);
  operator_sizes(step, out);
}

void StepFeatures::operator_sizes(std::size_t step, std::vector<float>& out) const {
  const workload::OperatorCost& cost = costs_[step];
  const Product product = product_of(run_.graph, op(step));
  out.assign({log_size(cost.matrix_flops.value()), log_size(cost.vector_flops.value()), log_size(cost.read.value()),
              log_size(cost.written.value()), log_size(cost.parameters.value()), log_size(product.rows),
              log_size(product.columns), log_size(product.depth), log_size(product.count), log_size(product.filter),
              static_cast<float>(scale_.call / prior(step))});
}

std::vector<std::string> StepFeatures::feature_names(StepGroup group) {
  std::vector<std::string> names = size_names(group);
  names.insert(names.end(),
               {"kind", "stride", "side", "kind_before", "elements_before", "elements", "kernels", "batch", "intensity",
                "gradients", "optimizer", "kind_after", "prior", "inputs", "model_parameters", "iteration_traffic"});
  return names;
}

void StepFeatures::features(std::size_t step, std::vector<float>& out) const {
  sizes(step, out);
  const workload::OperatorCost& cost = costs_[step];
  const Operator& here = op(step);
  const Product product = product_of(run_.graph, here);
  const auto kind_at = [&](std::size_t other) { return static_cast<float>(op(other).kind); };
  out.insert(
      out.end(),
      {static_cast<float>(here.kind), static_cast<float>(product.stride), static_cast<float>(product.side),
       step > 0 ? kind_at(step - 1) : -1, step > 0 ? log_size(elements_of(op(step - 1))) : 0,
       log_size(elements_of(here)), static_cast<float>(cost.kernels), log_size(static_cast<double>(run_.graph.batch())),
       log_size(cost.flops().value() / std::max(1.0, cost.bytes().value())),
       static_cast<float>(run_.graph.gradient_uses(steps_[step].op)), static_cast<float>(run_.optimizer),
       step + 1 < steps_.size() ? kind_at(step + 1) : -1, log_size(1e6 * prior(step)),
       static_cast<float>(here.inputs.size()), log_size(parameters_), log_size(traffic_)});
}

std::uint64_t StepFeatures::kind_likeness(std::size_t step) const {
  const auto phase = steps_[step].phase;
  const bool is_update = phase == Phase::kUpdate;
  const auto what = is_update ? static_cast<std::uint64_t>(run_.optimizer) : static_cast<std::uint64_t>(op(step).kind);
  return mix64(what * 4 + static_cast<std::uint64_t>(phase));
}

std::uint64_t StepFeatures::likeness(std::size_t step) const {
  std::uint64_t hash = mix64(kind_likeness(step));
  if (steps_[step].phase == Phase::kUpdate) return mix64(hash ^ static_cast<std::uint64_t>(op(step).kind));
  const Product product = product_of(run_.graph, op(step));
  for (const double size :
       {product.columns, product.depth, product.count, product.filter, product.filter_width, product.stride}) {
    hash = mix64(hash ^ static_cast<std::uint64_t>(std::log2(size + 1) * 2));
  }
  return hash;
}

}  // namespace orrery::predict
