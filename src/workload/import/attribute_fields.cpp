#include "workload/import/attribute_fields.h"

namespace orrery::workload {

Attributes default_attributes(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kInput:
    case OperatorKind::kParameter:
    case OperatorKind::kRandom:
      return SourceAttributes{};
    case OperatorKind::kConv2d:
    case OperatorKind::kConvTranspose2d:
      return ConvAttributes{};
    case OperatorKind::kLinear:
      return LinearAttributes{};
    case OperatorKind::kAttention:
      return AttentionAttributes{};
    case OperatorKind::kRnn:
    case OperatorKind::kLstm:
    case OperatorKind::kGru:
      return RecurrentAttributes{};
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
      return EmbeddingAttributes{};
    case OperatorKind::kBatchNorm:
    case OperatorKind::kLayerNorm:
    case OperatorKind::kGroupNorm:
    case OperatorKind::kRmsNorm:
      return NormAttributes{};
    case OperatorKind::kSoftmax:
    case OperatorKind::kConcat:
      return AxisAttributes{};
    case OperatorKind::kMaxPool2d:
    case OperatorKind::kAvgPool2d:
      return PoolAttributes{};
    case OperatorKind::kAdaptiveAvgPool2d:
      return AdaptivePoolAttributes{};
    case OperatorKind::kMean:
    case OperatorKind::kSum:
      return ReduceAttributes{};
    case OperatorKind::kReshape:
      return ReshapeAttributes{};
    case OperatorKind::kTranspose:
      return TransposeAttributes{};
    case OperatorKind::kSlice:
      return SliceAttributes{};
    case OperatorKind::kPad:
      return PadAttributes{};
    case OperatorKind::kIndex:
      return IndexAttributes{};
    case OperatorKind::kOther:
      return OtherAttributes{};
    case OperatorKind::kDropout:
    case OperatorKind::kStochasticDepth:
      return RateAttributes{};
    default:
      return std::monostate();
  }
}

}  // namespace orrery::workload
