#include "predict/ets/graph_rows.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "workload/cost.h"

namespace orrery::predict {

namespace {

using workload::Operator;
using workload::OperatorKind;
using workload::Phase;

constexpr std::int32_t kUpdateKind = 1000;  // of every optimizer's pass over tensors
constexpr std::int32_t kFloatBytes = 4;

struct KindName {
  OperatorKind kind;
  std::string_view name;  // as in the published traces
};
constexpr KindName kNames[] = {{OperatorKind::kConv2d, "conv2d"},
                               {OperatorKind::kConvTranspose2d, "conv_transpose2d"},
                               {OperatorKind::kLinear, "linear"},
                               {OperatorKind::kMatmul, "matmul"},
                               {OperatorKind::kAttention, "__matmul__"},
                               {OperatorKind::kBatchNorm, "batch_norm"},
                               {OperatorKind::kLayerNorm, "layer_norm"},
                               {OperatorKind::kGroupNorm, "normalize"},
                               {OperatorKind::kRmsNorm, "normalize"},
                               {OperatorKind::kRelu, "relu"},
                               {OperatorKind::kRelu6, "relu"},
                               {OperatorKind::kLeakyRelu, "relu"},
                               {OperatorKind::kHardtanh, "relu"},
                               {OperatorKind::kGelu, "gelu"},
                               {OperatorKind::kSilu, "silu"},
                               {OperatorKind::kHardswish, "silu"},
                               {OperatorKind::kHardsigmoid, "sigmoid"},
                               {OperatorKind::kSigmoid, "sigmoid"},
                               {OperatorKind::kTanh, "sigmoid"},
                               {OperatorKind::kSoftmax, "softmax"},
                               {OperatorKind::kAdd, "__iadd__"},
                               {OperatorKind::kSubtract, "__add__"},
                               {OperatorKind::kMultiply, "__mul__"},
                               {OperatorKind::kScale, "__mul__"},
                               {OperatorKind::kDivide, "__truediv__"},
                               {OperatorKind::kAdaptiveAvgPool2d, "adaptive_avg_pool2d"},
                               {OperatorKind::kReshape, "reshape"},
                               {OperatorKind::kContiguous, "aten::clone"},
                               {OperatorKind::kConcat, "cat"},
                               {OperatorKind::kIndex, "aten::index"},
                               {OperatorKind::kDropout, "dropout"},
                               {OperatorKind::kStochasticDepth, "bernoulli_"},
                               {OperatorKind::kCrossEntropy, "cross_entropy"}};

std::int32_t bounded(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max()));
}

void add_dims(const workload::Shape& shape, std::vector<std::int32_t>& out) {
  out.push_back(kFloatBytes);
  for (const std::int64_t dim : shape.dims()) out.push_back(bounded(dim));
}

std::vector<std::int32_t> parameters_of(const workload::TrainingGraph& graph, const Operator& op, Phase phase) {
  std::vector<std::int32_t> out;
  if (phase == Phase::kUpdate) {
    for (const workload::Parameter& parameter : op.parameters) add_dims(parameter.shape, out);
    return out;
  }
  const auto dim = [](const workload::Shape& shape, std::size_t place) {
    return shape.dims().size() > place ? bounded(shape.dims()[place]) : 1;
  };
  if (const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes); conv != nullptr && !op.inputs.empty()) {
    const workload::Shape& in = graph.type(op.inputs.front()).shape;
    const workload::Shape& made = op.outputs.front().shape;
    const workload::Window2d& window = conv->window;
    out = {dim(in, 0), dim(in, 1), dim(in, 2), dim(in, 3), dim(made, 1), dim(made, 2), dim(made, 3)};
    for (const std::int64_t value : {window.kernel_h, window.kernel_w, window.padding_h, window.padding_w,
                                     window.stride_h, window.stride_w, window.dilation_h, window.dilation_w}) {
      out.push_back(bounded(value));
    }
    out.push_back(bounded(conv->groups));
    out.push_back(kFloatBytes);
    return out;
  }
  if (!op.outputs.empty()) add_dims(op.outputs.front().shape, out);
  for (const workload::Value& input : op.inputs) add_dims(graph.type(input).shape, out);
  return out;
}

// The side of the images that come in; 1 for what is no image.
std::int64_t side_of(const workload::TrainingGraph& graph) {
  constexpr std::size_t kImageRank = 4;
  for (const Operator& op : graph.operators()) {
    if (op.kind != OperatorKind::kInput || op.outputs.empty()) continue;
    const auto dims = op.outputs.front().shape.dims();
    return dims.size() == kImageRank ? dims[kImageRank - 1] : 1;
  }
  return 1;
}

}  // namespace

GraphRows graph_rows(const workload::TrainingRun& run, hardware::DeviceKind device) {
  GraphRows rows;
  rows.trace.model = run.graph.name();
  rows.trace.batch = run.graph.batch();
  rows.trace.image = side_of(run.graph);
  const std::vector<workload::PhaseStep> steps = run.graph.execution_order();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const workload::OperatorCost cost = workload::operator_cost(run.graph, steps[i], run.cost_options());
    if (cost.kernels <= 0 && device != hardware::DeviceKind::kCpu) continue;
    const Operator& op = run.graph[steps[i].op];
    LaunchedOperator row;
    row.kind = steps[i].phase == Phase::kUpdate ? kUpdateKind : static_cast<std::int32_t>(op.kind);
    row.phase = steps[i].phase;
    row.kernels = std::max(1, static_cast<std::int32_t>(cost.kernels));
    row.flops = cost.flops().value();
    row.bytes = cost.bytes().value();
    row.parameters = parameters_of(run.graph, op, steps[i].phase);
    rows.trace.operators.push_back(std::move(row));
    rows.steps.push_back(i);
  }
  return rows;
}

const std::map<std::int32_t, std::string>& graph_row_kinds() {
  static const std::map<std::int32_t, std::string> kKinds = [] {
    std::map<std::int32_t, std::string> kinds;
    for (const KindName& one : kNames) kinds[static_cast<std::int32_t>(one.kind)] = one.name;
    kinds[kUpdateKind] = "add_";
    return kinds;
  }();
  return kKinds;
}

void add_times(GraphRows& rows, const std::vector<StepTime>& times) {
  rows.trace.times.assign(rows.steps.size(), {});
  rows.trace.iteration = 0;
  std::size_t row = 0;
  for (std::size_t step = 0; step < times.size() && !rows.steps.empty(); ++step) {
    while (row + 1 < rows.steps.size() && rows.steps[row + 1] <= step) ++row;
    LaunchTimes& here = rows.trace.times[row];
    if (rows.steps[row] == step) {
      here.device += times[step].execution;
      here.gap += times[step].gap;
    } else {
      here.gap += times[step].execution + times[step].gap;
    }
    rows.trace.iteration += times[step].execution + times[step].gap;
  }
}

}  // namespace orrery::predict
