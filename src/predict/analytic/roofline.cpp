#include "predict/analytic/roofline.h"

#include <algorithm>

#include "workload/traits.h"

namespace orrery::predict {

using hardware::Device;
using hardware::DeviceKind;
using workload::Operator;
using workload::OperatorCost;
using workload::OperatorKind;
using workload::TrainingGraph;

namespace {

constexpr double kVectorEfficiency = 0.5;
constexpr double kDepthwiseEfficiency = 0.08;  // of the vector peak
constexpr double kBandwidthEfficiency = 0.7;
constexpr double kTileOutputs = 128 * 64;

struct MatrixEfficiency {
  double plain;   // fp32 units
  double tensor;  // matrix units, whose peak is harder to reach
};

bool is_depthwise(const Operator& op) {
  const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes);
  return conv != nullptr && conv->groups > 1 && conv->groups == conv->out_channels;
}

MatrixEfficiency matrix_efficiency(const Operator& op) {
  const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes);
  if (conv != nullptr) {
    if (conv->groups > 1) return {0.12, 0.06};
    const bool transformable = conv->window.kernel_h == 3 && conv->window.kernel_w == 3 && conv->window.stride_h == 1;
    return transformable ? MatrixEfficiency{1.00, 0.40} : MatrixEfficiency{0.65, 0.35};
  }
  switch (op.kind) {
    case OperatorKind::kLinear:
      return {0.80, 0.60};
    case OperatorKind::kMatmul:
      return {0.60, 0.40};
    case OperatorKind::kAttention:
      return {0.45, 0.40};
    default:
      return {0.35, 0.20};
  }
}

// Length of the sums a product computes.
double depth_of(const TrainingGraph& graph, const Operator& op) {
  if (op.outputs.empty()) return 1;
  const auto outputs = static_cast<double>(op.outputs[0].shape.elements());
  return std::max(1.0, workload::forward_macs(graph, op) / outputs);
}

double saturation(const Device& device, const TrainingGraph& graph, const Operator& op, const OperatorCost& cost,
                  double share) {
  const auto outputs = static_cast<double>(op.outputs[0].shape.elements()) * share;
  const double tiles = outputs / cost.sequential / kTileOutputs;
  const double filled = tiles / (tiles + 0.35 * std::max(1, device.sms));
  const double depth = depth_of(graph, op);
  const double tile_share = device.kind == DeviceKind::kCpu ? 1 : filled;
  return tile_share * depth / (depth + 24);
}

Seconds shortest_kernel(const Device& device) {
  switch (device.kind) {
    case DeviceKind::kGpu:
      return microseconds(4);
    case DeviceKind::kAccelerator:
      return microseconds(1);
    case DeviceKind::kCpu:
      return microseconds(4);
  }
  return microseconds(4);
}

}  // namespace

Seconds launch_time(const Device& device) {
  switch (device.kind) {
    case DeviceKind::kGpu:
      return microseconds(9);
    case DeviceKind::kAccelerator:
      return microseconds(1);
    case DeviceKind::kCpu:
      return Seconds(0);  // the host is the device
  }
  return Seconds(0);
}

OperatorTime roofline_time(const Device& device, Precision precision, const TrainingGraph& graph, const Operator& op,
                           const OperatorCost& cost, double share) {
  if (cost.kernels == 0) return {};
  const FlopsPerSecond vector_peak = device.fp32_vector * kVectorEfficiency;
  Seconds compute = cost.vector_flops * share / vector_peak;
  if (cost.matrix_flops > Flops(0)) {
    const FlopsPerSecond peak = hardware::matrix_peak(device, precision);
    const bool on_matrix_units = peak > device.fp32_vector;
    const MatrixEfficiency efficiency = matrix_efficiency(op);
    // Depthwise convolutions have no product for a matrix unit.
    const FlopsPerSecond reached = is_depthwise(op) ? device.fp32_vector * kDepthwiseEfficiency
                                                    : peak * (on_matrix_units ? efficiency.tensor : efficiency.plain) *
                                                          saturation(device, graph, op, cost, share);
    // A library never picks the matrix path when the plain one is faster.
    const FlopsPerSecond plain = device.fp32 * efficiency.plain * saturation(device, graph, op, cost, share);
    compute += cost.matrix_flops * share / std::max(reached, is_depthwise(op) ? reached : plain);
  }
  const Seconds memory = cost.bytes() * share / (device.memory_bandwidth * kBandwidthEfficiency);
  const Seconds overhead = shortest_kernel(device) * cost.kernels;
  const Seconds work = std::max(compute, memory);
  const Bound bound = overhead > work ? Bound::kLaunch : compute > memory ? Bound::kCompute : Bound::kMemory;
  return {overhead + work, bound};
}

}  // namespace orrery::predict
