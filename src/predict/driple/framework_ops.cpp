#include "predict/driple/framework_ops.h"

namespace orrery::predict {

FrameworkOps framework_ops(workload::OperatorKind kind) {
  using enum workload::OperatorKind;
  switch (kind) {
    case kInput:
      return {"IteratorGetNext", "Identity"};
    case kParameter:
      return {"VariableV2", "Identity"};
    case kRandom:
      return {"RandomUniform", "Identity"};
    case kConv2d:
      return {"Conv2D", "Conv2DBackpropFilter"};
    case kConvTranspose2d:
      return {"Conv2DBackpropInput", "Conv2D"};
    case kLinear:
    case kRnn:
    case kLstm:
    case kGru:
      return {"MatMul", "MatMul"};
    case kMatmul:
    case kAttention:
      return {"BatchMatMul", "BatchMatMul"};
    case kEmbedding:
    case kEmbeddingBag:
      return {"Gather", "UnsortedSegmentSum"};
    case kBatchNorm:
    case kGroupNorm:
      return {"FusedBatchNorm", "FusedBatchNormGrad"};
    case kLayerNorm:
    case kRmsNorm:
      return {"Rsqrt", "RsqrtGrad"};
    case kRelu:
    case kRelu6:
    case kLeakyRelu:
    case kHardtanh:
      return {"Relu", "ReluGrad"};
    case kGelu:
    case kTanh:
      return {"Tanh", "TanhGrad"};
    case kSilu:
    case kHardswish:
    case kHardsigmoid:
    case kSigmoid:
      return {"Sigmoid", "SigmoidGrad"};
    case kExp:
      return {"Exp", "Mul"};
    case kSoftmax:
      return {"Softmax", "Mul"};
    case kAdd:
    case kSubtract:
      return {kind == kAdd ? "Add" : "Sub", "Identity"};
    case kMultiply:
    case kScale:
      return {"Mul", "Mul"};
    case kDivide:
      return {"RealDiv", "RealDiv"};
    case kMaxPool2d:
      return {"MaxPool", "MaxPoolGrad"};
    case kAvgPool2d:
    case kAdaptiveAvgPool2d:
      return {"AvgPool", "AvgPoolGrad"};
    case kMean:
      return {"Mean", "Tile"};
    case kSum:
      return {"Sum", "Tile"};
    case kReshape:
      return {"Reshape", "Reshape"};
    case kTranspose:
      return {"Transpose", "Transpose"};
    case kSlice:
      return {"StridedSlice", "StridedSliceGrad"};
    case kExpand:
      return {"Tile", "Sum"};
    case kConcat:
      return {"ConcatV2", "Slice"};
    case kPad:
      return {"Pad", "Slice"};
    case kRoll:
      return {"ConcatV2", "ConcatV2"};
    case kIndex:
      return {"Gather", "UnsortedSegmentSum"};
    case kDropout:
    case kStochasticDepth:
      return {"Mul", "Mul"};
    case kCrossEntropy:
    case kBinaryCrossEntropy:
      return {"SparseSoftmaxCrossEntropyWithLogits", "Mul"};
    case kMeanSquaredError:
      return {"SquaredDifference", "Mul"};
    case kContiguous:
    case kOther:
      return {"Identity", "Identity"};
  }
  return {"Identity", "Identity"};
}

std::string_view update_op(workload::Optimizer optimizer) {
  switch (optimizer) {
    case workload::Optimizer::kSgd:
      return "ApplyGradientDescent";
    case workload::Optimizer::kMomentum:
      return "ApplyMomentum";
    case workload::Optimizer::kAdam:
    case workload::Optimizer::kAdamW:
      return "ApplyAdam";
  }
  return "ApplyMomentum";
}

}  // namespace orrery::predict
