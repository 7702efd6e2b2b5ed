#include "predict/ets/work.h"

#include <algorithm>
#include <array>
#include <span>

namespace orrery::predict {

namespace {

using workload::Phase;

constexpr double kFloat = 4;  // bytes
constexpr std::size_t kConvolutionParametersMin = 16;
constexpr double kBatchNormBytes = 16;  // the profiler's bytes per element, forward
constexpr double kElementsPerThread = 4;

// Tensors are at fixed slots: type bytes, then sizes, zeros behind.
constexpr std::size_t kLayerSlot = 10, kPairSlot = 15, kListSlot = 5;

double at(const LaunchedOperator& op, std::size_t i) {
  return i < op.parameters.size() ? op.parameters[i] : 0;
}

struct Shape {
  std::array<double, 9> sizes{};
  std::size_t rank = 0;
  double elements() const {
    double product = rank == 0 ? 0 : 1;
    for (std::size_t i = 0; i < rank; ++i) product *= sizes[i];
    return product;
  }
  double last(std::size_t back = 0) const { return back < rank ? sizes[rank - 1 - back] : 1; }
};

Shape shape_at(const LaunchedOperator& op, std::size_t slot, std::size_t width) {
  Shape shape;
  for (std::size_t i = slot + 1; i < slot + width && shape.rank < shape.sizes.size() && at(op, i) > 0; ++i) {
    shape.sizes[shape.rank++] = at(op, i);
  }
  return shape;
}

double passes(const LaunchedOperator& op) {
  return op.phase == Phase::kBackward ? 2 : 1;
}

LaunchWork convolution(const LaunchedOperator& op) {
  enum { kBatch, kInputs, kHeight, kWidth, kOutputs, kOutHeight, kOutWidth, kFilterHeight, kFilterWidth };
  constexpr std::size_t kStride = 11, kGroups = 15;
  LaunchWork work;
  Convolution shape;
  shape.groups = std::max(1.0, at(op, kGroups));
  shape.weight = {at(op, kOutputs), at(op, kInputs) / shape.groups, at(op, kFilterHeight), at(op, kFilterWidth)};
  shape.input_channels = at(op, kInputs);
  shape.input_side = at(op, kHeight);
  shape.output_side = at(op, kOutHeight);
  shape.stride = at(op, kStride);
  const double pixels = at(op, kBatch) * at(op, kOutHeight) * at(op, kOutWidth);
  const double input = at(op, kBatch) * at(op, kInputs) * at(op, kHeight) * at(op, kWidth);
  const double weight = shape.weight[0] * shape.weight[1] * shape.weight[2] * shape.weight[3];
  shape.outputs = pixels * at(op, kOutputs);
  work.product = {pixels, at(op, kOutputs) / shape.groups, weight / std::max(1.0, at(op, kOutputs)), shape.groups};
  work.flops = passes(op) * 2 * pixels * weight;
  work.bytes = passes(op) * kFloat * (input + shape.outputs + weight);
  work.elements = std::max(input, shape.outputs);
  work.parameter_bytes = kFloat * weight;
  work.convolution = shape;
  return work;
}

LaunchWork linear(const LaunchedOperator& op) {
  LaunchWork work;
  const Shape input = shape_at(op, 0, kLayerSlot);
  const Shape weight = shape_at(op, kLayerSlot, kLayerSlot);
  const double rows = input.elements() / std::max(1.0, input.last());
  const double outputs = rows * weight.sizes[0];
  work.product = {rows, weight.sizes[0], weight.last(), 1};
  work.flops = passes(op) * 2 * rows * weight.elements();
  work.bytes = passes(op) * kFloat * (input.elements() + outputs + weight.elements());
  work.elements = std::max(input.elements(), outputs);
  work.parameter_bytes = kFloat * (weight.elements() + weight.sizes[0]);
  return work;
}

// All products of a batch count as rows of one.
LaunchWork matmul(const LaunchedOperator& op) {
  LaunchWork work;
  const Shape left = shape_at(op, 0, kPairSlot), right = shape_at(op, kPairSlot, kPairSlot);
  const double rows = left.elements() / std::max(1.0, left.last());
  const double outputs = rows * right.last();
  work.product = {rows, right.last(), left.last(), 1};
  work.flops = passes(op) * 2 * left.elements() * right.last();
  work.bytes = passes(op) * kFloat * (left.elements() + right.elements() + outputs);
  work.elements = std::max({left.elements(), right.elements(), outputs});
  return work;
}

LaunchWork others(const LaunchedOperator& op, WorkClass work_class) {
  LaunchWork work;
  const bool is_layer = work_class == WorkClass::kLayerNorm;
  const std::size_t slot = is_layer ? kLayerSlot : kPairSlot;
  work.elements = std::max(shape_at(op, 0, slot).elements(), shape_at(op, slot, slot).elements());
  double moved = 2 * work.elements;
  if (work_class == WorkClass::kBatchNorm && op.phase == Phase::kForward) {
    work.elements = op.bytes / kBatchNormBytes;
    moved = 3 * work.elements;  // read for the mean, read again, written
  } else if (work_class == WorkClass::kBatchNorm) {
    moved = 5 * work.elements;
  } else if (work_class == WorkClass::kCopy && op.parameters.size() > 2 * kPairSlot - kListSlot) {
    work.elements = 0;  // a list of shapes, cut where the space ends
    for (std::size_t i = 0; i < op.parameters.size(); i += kListSlot) {
      work.elements += shape_at(op, i, kListSlot).elements();
    }
    moved = std::max(2 * work.elements, op.bytes / kFloat);
  } else if (op.phase != Phase::kForward || op.parameters.size() > kPairSlot) {
    moved = 3 * work.elements;
  }
  if (work_class == WorkClass::kElementwise && op.bytes > 0) moved = op.bytes / kFloat;
  if (work.elements <= 0) {
    work.elements = op.grid * op.block * kElementsPerThread;
    moved = 2 * work.elements;
  }
  if (is_layer) work.parameter_bytes = kFloat * 2 * shape_at(op, kLayerSlot, kLayerSlot).elements();
  if (work_class == WorkClass::kBatchNorm) work.parameter_bytes = kFloat * 2 * at(op, 2);
  work.bytes = kFloat * moved;
  work.flops = work.elements;
  return work;
}

}  // namespace

WorkClass work_class_of(std::string_view kind_name) {
  struct Entry {
    std::string_view part;
    WorkClass work_class;
  };
  static constexpr Entry kEntries[] = {
      {"conv", WorkClass::kConvolution}, {"linear", WorkClass::kLinear},        {"matmul", WorkClass::kMatmul},
      {"bmm", WorkClass::kMatmul},       {"batch_norm", WorkClass::kBatchNorm}, {"layer_norm", WorkClass::kLayerNorm},
      {"pool", WorkClass::kPool},        {"softmax", WorkClass::kSoftmax},      {"cat", WorkClass::kCopy},
      {"clone", WorkClass::kCopy},       {"reshape", WorkClass::kCopy},         {"roll", WorkClass::kCopy},
      {"pad", WorkClass::kCopy},         {"index", WorkClass::kCopy},
  };
  for (const Entry& entry : kEntries) {
    if (kind_name.find(entry.part) != std::string_view::npos) return entry.work_class;
  }
  return WorkClass::kElementwise;
}

LaunchWork work_of(const LaunchedOperator& op, WorkClass work_class) {
  LaunchWork work;
  if (work_class == WorkClass::kConvolution && op.parameters.size() >= kConvolutionParametersMin) {
    work = convolution(op);
  } else if (work_class == WorkClass::kLinear) {
    work = linear(op);
  } else if (work_class == WorkClass::kMatmul) {
    work = matmul(op);
  } else {
    work = others(op, work_class);
  }
  work.work_class = work_class;
  return work;
}

}  // namespace orrery::predict
