#include "predict/analytic/memory.h"

#include <algorithm>

#include "predict/analytic/activations.h"

namespace orrery::predict {

using workload::kMasterBytes;
using workload::Operator;
using workload::OperatorIndex;
using workload::OperatorKind;
using workload::TrainingGraph;
using workload::TrainingRun;

namespace {

constexpr double kWorkspaceFactor = 5.8;
constexpr Bytes kDeviceContext = mebibytes(1350);
constexpr Bytes kConvolutionLibrary = mebibytes(420);
constexpr Bytes kHostFramework = mebibytes(250);
// What the caching allocator holds beyond what is alive: rounding and holes.
constexpr double kAllocatorSlack = 1.03;

bool has_window(const Operator& op) {
  const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes);
  if (conv == nullptr) return false;
  const bool depthwise = conv->groups > 1 && conv->groups == conv->out_channels;
  return !depthwise && conv->window.kernel_h * conv->window.kernel_w > 1;
}

struct StageParameters {
  double elements = 0;
  double trained = 0;  // of them
  double largest = 0;  // of one operator
};

StageParameters parameters_of(const TrainingGraph& graph, const TensorSplit& split, const Stage& stage) {
  StageParameters sum;
  for (const OperatorIndex at : stage.operators()) {
    const double owned = static_cast<double>(workload::parameter_elements(graph[at])) * split.parameters[at];
    sum.elements += owned;
    if (!graph[at].frozen) sum.trained += owned;
    sum.largest = std::max(sum.largest, owned);
  }
  return sum;
}

}  // namespace

MemoryBreakdown stage_memory(const TrainingRun& run, const TrainingGraph& graph, const TensorSplit& split,
                             const Stage& stage, bool on_host) {
  const workload::CostOptions options = run.cost_options();
  const workload::Parallelism& parallel = run.parallelism;
  const StageParameters parameters = parameters_of(graph, split, stage);
  const double replicas = parallel.data;
  MemoryBreakdown memory;

  const double all_parameters = parameters.elements * kMasterBytes;
  const Bytes gradients(parameters.trained * kMasterBytes);
  // Stage 3 keeps 1/n of the parameters and gathers two operators' worth at a time.
  const double gathered = std::min(all_parameters, all_parameters / replicas + 2 * parameters.largest * kMasterBytes);
  memory.parameters = Bytes(parallel.zero_stage >= 3 ? gathered : all_parameters);
  memory.gradients = gradients / (parallel.zero_stage >= 2 ? replicas : 1);
  memory.optimizer_state = Bytes(parameters.trained * workload::traits(run.optimizer).state_bytes() /
                                 (parallel.zero_stage >= 1 ? replicas : 1));
  // Reduced-precision training keeps a half-size copy of the weights for its products.
  if (options.parameter_bytes < kMasterBytes) {
    memory.parameters += memory.parameters * (options.parameter_bytes / kMasterBytes);
  }

  const ActivationMemory activations = activation_memory(graph, options, stage.first, stage.last, split.output);
  memory.activations = activations.saved * (kAllocatorSlack * stage.in_flight);
  memory.temporaries = (activations.peak - activations.saved) * kAllocatorSlack;

  bool uses_convolution = false;
  for (const OperatorIndex at : stage.operators()) {
    const Operator& op = graph[at];
    uses_convolution =
        uses_convolution || op.kind == OperatorKind::kConv2d || op.kind == OperatorKind::kConvTranspose2d;
    if (!has_window(op) || on_host) continue;
    const Bytes moved = workload::tensor_bytes(graph.type(op.inputs[0]), options.activation_bytes) +
                        workload::tensor_bytes(op.outputs[0], options.activation_bytes);
    memory.workspace = std::max(memory.workspace, moved * (kWorkspaceFactor * split.work[at]));
  }
  // Replicas copy gradients into buckets of their own; a sharded exchange sends them from where they are.
  const bool buckets = parallel.data > 1 && parallel.zero_stage < 2;
  if (buckets) memory.communication = gradients;
  memory.framework = on_host ? kHostFramework : kDeviceContext;
  if (uses_convolution && !on_host) memory.framework += kConvolutionLibrary;
  return memory;
}

}  // namespace orrery::predict
