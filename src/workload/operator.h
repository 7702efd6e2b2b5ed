#pragma once
// One operator of a training graph: what it computes, on which tensors, with which parameters.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/index.h"
#include "workload/tensor.h"

namespace orrery::workload {

enum class OperatorKind {
  // sources
  kInput,
  kParameter,  // a learned tensor that is used as it is: position embedding, class token, layer scale
  kRandom,     // fresh noise
  // matrix products
  kConv2d,
  kConvTranspose2d,
  kLinear,
  kMatmul,
  kAttention,  // fused scaled-dot-product attention of q, k, v [batch, heads, tokens, head size]
  kRnn,
  kLstm,
  kGru,
  kEmbedding,
  kEmbeddingBag,
  // normalisation
  kBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kRmsNorm,
  // activation
  kRelu,
  kRelu6,
  kLeakyRelu,
  kHardtanh,
  kGelu,
  kSilu,
  kHardswish,
  kHardsigmoid,
  kSigmoid,
  kTanh,
  kExp,
  kSoftmax,
  // element by element, with broadcasting
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kScale,  // by a number
  // pooling and reduction
  kMaxPool2d,
  kAvgPool2d,
  kAdaptiveAvgPool2d,
  kMean,
  kSum,
  // layout
  kReshape,
  kTranspose,
  kSlice,
  kExpand,
  kContiguous,
  kConcat,
  kPad,
  kRoll,
  kOther,  // one we have no rules for: it moves its inputs and outputs, and keeps its inputs for backward
  kIndex,  // picks elements by a fixed table: relative positions, the upper half of a matrix
  // regularisation
  kDropout,
  kStochasticDepth,
  // losses; the target is not part of the graph
  kCrossEntropy,
  kMeanSquaredError,
  kBinaryCrossEntropy,
};

struct Window2d {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t padding_h = 0, padding_w = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  bool ceil_mode = false;  // round the output size up (pooling)
  friend bool operator==(const Window2d&, const Window2d&) = default;
};

struct SourceAttributes {
  TensorType type;  // for kInput and kRandom, dimension 0 is the batch
  friend bool operator==(const SourceAttributes&, const SourceAttributes&) = default;
};
struct ConvAttributes {
  std::int64_t out_channels = 1;
  Window2d window;
  std::int64_t groups = 1;
  bool bias = true;
  friend bool operator==(const ConvAttributes&, const ConvAttributes&) = default;
};
struct LinearAttributes {
  std::int64_t out_features = 1;
  bool bias = true;
  friend bool operator==(const LinearAttributes&, const LinearAttributes&) = default;
};
struct AttentionAttributes {
  bool causal = false;
  friend bool operator==(const AttentionAttributes&, const AttentionAttributes&) = default;
};
struct RecurrentAttributes {  // input [batch, steps, features]
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  bool bidirectional = false;
  bool bias = true;
  friend bool operator==(const RecurrentAttributes&, const RecurrentAttributes&) = default;
};
struct EmbeddingAttributes {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  friend bool operator==(const EmbeddingAttributes&, const EmbeddingAttributes&) = default;
};
struct NormAttributes {
  std::int64_t groups = 1;  // kGroupNorm
  int normalized_rank = 1;  // kLayerNorm, kRmsNorm: how many trailing dimensions
  bool affine = true;
  bool bias = true;
  friend bool operator==(const NormAttributes&, const NormAttributes&) = default;
};
struct PoolAttributes {
  Window2d window;
  friend bool operator==(const PoolAttributes&, const PoolAttributes&) = default;
};
struct AdaptivePoolAttributes {
  std::int64_t height = 1, width = 1;
  friend bool operator==(const AdaptivePoolAttributes&, const AdaptivePoolAttributes&) = default;
};
struct AxisAttributes {  // kSoftmax, kConcat
  int axis = -1;
  friend bool operator==(const AxisAttributes&, const AxisAttributes&) = default;
};
struct ReduceAttributes {
  std::vector<int> axes;  // empty: all
  bool keep = false;
  friend bool operator==(const ReduceAttributes&, const ReduceAttributes&) = default;
};
struct ReshapeAttributes {
  std::vector<std::int64_t> dims;  // -1: the remaining elements (usually the batch); 0: as in the input
  friend bool operator==(const ReshapeAttributes&, const ReshapeAttributes&) = default;
};
struct IndexAttributes {
  std::vector<std::int64_t> dims;  // of the output; 0: as in the input
  friend bool operator==(const IndexAttributes&, const IndexAttributes&) = default;
};
struct OtherAttributes {
  std::string type;  // what its framework calls it
  // Of each output: dimensions, 0: as in the first input (usually the batch).
  std::vector<std::vector<std::int64_t>> outputs;
  std::vector<std::vector<std::int64_t>> parameters;
  DataType dtype = DataType::kFloat32;
  friend bool operator==(const OtherAttributes&, const OtherAttributes&) = default;
};
struct TransposeAttributes {
  std::vector<int> order;
  friend bool operator==(const TransposeAttributes&, const TransposeAttributes&) = default;
};
struct SliceAttributes {
  int axis = 0;
  std::int64_t begin = 0, end = 1, step = 1;
  friend bool operator==(const SliceAttributes&, const SliceAttributes&) = default;
};
struct PadAttributes {
  std::vector<std::int64_t> before, after;  // one per dimension
  friend bool operator==(const PadAttributes&, const PadAttributes&) = default;
};
struct RateAttributes {  // kDropout, kStochasticDepth
  double rate = 0.5;
  friend bool operator==(const RateAttributes&, const RateAttributes&) = default;
};

using Attributes =
    std::variant<std::monostate, SourceAttributes, ConvAttributes, LinearAttributes, AttentionAttributes,
                 RecurrentAttributes, EmbeddingAttributes, NormAttributes, PoolAttributes, AdaptivePoolAttributes,
                 AxisAttributes, ReduceAttributes, ReshapeAttributes, IndexAttributes, OtherAttributes,
                 TransposeAttributes, SliceAttributes, PadAttributes, RateAttributes>;

// The place of an operator in its graph, in execution order.
using OperatorIndex = Index<struct Operator>;
template <class T>
using ByOperator = IndexedVector<OperatorIndex, T>;

// One output of one operator.
struct Value {
  OperatorIndex op;
  std::int32_t output = 0;
  friend auto operator<=>(const Value&, const Value&) = default;
};

struct Parameter {
  std::string name;  // "weight", "bias", …
  Shape shape;
};

struct Operator {
  std::string name;  // unique in its graph: "layer1.0.conv1"
  OperatorKind kind = OperatorKind::kInput;
  Attributes attributes;
  std::vector<Value> inputs;
  bool in_place = false;              // the output overwrites the first input
  bool frozen = false;                // its parameters are not trained: no gradients, no states, no update
  OperatorIndex tied_to;              // the operator whose weight this one uses instead of one of its own
  std::vector<Parameter> parameters;  // derived by inference
  std::vector<TensorType> outputs;    // derived by inference
};

using Operators = ByOperator<Operator>;

inline const TensorType& output_type(const Operators& operators, Value value) {
  return operators[value.op].outputs[static_cast<std::size_t>(value.output)];
}

// Derives parameters and outputs of `op` from the types of its inputs. The error names the operator, the dimension and
// what was expected. This is the only place with shape rules: builders and importers all use it.
Status infer(Operator& op, std::span<const TensorType> inputs);

}  // namespace orrery::workload
