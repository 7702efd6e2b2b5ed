#include "workload/traits.h"

#include <array>
#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace orrery::workload {

namespace {

using enum OperatorKind;
using enum OperatorClass;

// clang-format off
constexpr std::array kTable = {
  //             kind                name                 class         saves in/out   extra  fwd bwd  kernels  reads
  OperatorTraits{kInput,             "input",             kSource,      false, false,  0,     0,  0,   0, 0},
  OperatorTraits{kParameter,         "parameter",         kSource,      false, false,  0,     0,  0,   0, 0},
  OperatorTraits{kRandom,            "random",            kSource,      false, false,  0,     4,  0,   1, 0},
  OperatorTraits{kConv2d,            "conv2d",            kMatrix,      true,  false,  0,     0,  0,   1, 2},
  OperatorTraits{kConvTranspose2d,   "conv_transpose2d",  kMatrix,      true,  false,  0,     0,  0,   1, 2},
  OperatorTraits{kLinear,            "linear",            kMatrix,      true,  false,  0,     0,  0,   1, 2},
  OperatorTraits{kMatmul,            "matmul",            kMatrix,      true,  false,  0,     0,  0,   1, 2},
  OperatorTraits{kAttention,         "attention",         kMatrix,      true,  true,   0,     0,  0,   1, 2},
  OperatorTraits{kRnn,               "rnn",               kMatrix,      true,  true,   0,     4,  4,   1, 2},
  OperatorTraits{kLstm,              "lstm",              kMatrix,      true,  true,   0,     20, 30,  1, 2},
  OperatorTraits{kGru,               "gru",               kMatrix,      true,  true,   0,     16, 24,  1, 2},
  OperatorTraits{kEmbedding,         "embedding",         kElementwise, true,  false,  0,     0,  1,   1, 2},
  OperatorTraits{kEmbeddingBag,      "embedding_bag",     kElementwise, true,  false,  0,     1,  1,   1, 2},
  OperatorTraits{kBatchNorm,         "batch_norm",        kElementwise, true,  false,  0,     6,  10,  1, 1, 2},
  OperatorTraits{kLayerNorm,         "layer_norm",        kElementwise, true,  false,  0,     8,  14,  1, 2},
  OperatorTraits{kGroupNorm,         "group_norm",        kElementwise, true,  false,  0,     8,  14,  2, 3, 2},
  OperatorTraits{kRmsNorm,           "rms_norm",          kElementwise, true,  false,  0,     6,  10,  1, 2},
  OperatorTraits{kRelu,              "relu",              kElementwise, false, true,   0,     1,  1,   1, 1},
  OperatorTraits{kRelu6,             "relu6",             kElementwise, true,  false,  0,     2,  2,   1, 1},
  OperatorTraits{kLeakyRelu,         "leaky_relu",        kElementwise, false, true,   0,     2,  2,   1, 1},
  OperatorTraits{kHardtanh,          "hardtanh",          kElementwise, true,  false,  0,     2,  2,   1, 1},
  OperatorTraits{kGelu,              "gelu",              kElementwise, true,  false,  0,     12, 20,  1, 1},
  OperatorTraits{kSilu,              "silu",              kElementwise, true,  false,  0,     6,  10,  1, 1},
  OperatorTraits{kHardswish,         "hardswish",         kElementwise, true,  false,  0,     4,  6,   1, 1},
  OperatorTraits{kHardsigmoid,       "hardsigmoid",       kElementwise, true,  false,  0,     3,  3,   1, 1},
  OperatorTraits{kSigmoid,           "sigmoid",           kElementwise, false, true,   0,     4,  3,   1, 1},
  OperatorTraits{kTanh,              "tanh",              kElementwise, false, true,   0,     5,  3,   1, 1},
  OperatorTraits{kExp,               "exp",               kElementwise, false, true,   0,     4,  1,   1, 1},
  OperatorTraits{kSoftmax,           "softmax",           kElementwise, false, true,   0,     7,  4,   1, 1},
  OperatorTraits{kAdd,               "add",               kElementwise, false, false,  0,     1,  0,   1, 0},
  OperatorTraits{kSubtract,          "subtract",          kElementwise, false, false,  0,     1,  1,   1, 1},
  OperatorTraits{kMultiply,          "multiply",          kElementwise, true,  false,  0,     1,  2,   1, 2},
  OperatorTraits{kDivide,            "divide",            kElementwise, true,  false,  0,     1,  4,   1, 2},
  OperatorTraits{kScale,             "scale",             kElementwise, false, false,  0,     1,  1,   1, 1},
  OperatorTraits{kMaxPool2d,         "max_pool2d",        kReduction,   true,  false,  8,     1,  1,   1, 1},
  OperatorTraits{kAvgPool2d,         "avg_pool2d",        kReduction,   true,  false,  0,     1,  1,   1, 1},
  OperatorTraits{kAdaptiveAvgPool2d, "adaptive_avg_pool2d", kReduction, true,  false,  0,     1,  1,   1, 1},
  OperatorTraits{kMean,              "mean",              kReduction,   false, false,  0,     1,  1,   1, 1},
  OperatorTraits{kSum,               "sum",               kReduction,   false, false,  0,     1,  0,   1, 0},
  OperatorTraits{kReshape,           "reshape",           kView,        false, false,  0,     0,  0,   0, 0},
  OperatorTraits{kTranspose,         "transpose",         kView,        false, false,  0,     0,  0,   0, 0},
  OperatorTraits{kSlice,             "slice",             kView,        false, false,  0,     0,  0,   0, 1},
  OperatorTraits{kExpand,            "expand",            kView,        false, false,  0,     0,  1,   0, 1},
  OperatorTraits{kContiguous,        "contiguous",        kElementwise, false, false,  0,     0,  0,   1, 0},
  OperatorTraits{kConcat,            "concat",            kElementwise, false, false,  0,     0,  0,   1, 0},
  OperatorTraits{kPad,               "pad",               kElementwise, false, false,  0,     0,  0,   1, 1},
  OperatorTraits{kRoll,              "roll",              kElementwise, false, false,  0,     0,  0,   1, 1},
  OperatorTraits{kOther,             "other",             kElementwise, true,  false,  0,     1,  2,   1, 1},
  OperatorTraits{kIndex,             "index",             kElementwise, false, false,  0,     0,  1,   1, 2},
  OperatorTraits{kDropout,           "dropout",           kElementwise, false, false,  1,     3,  1,   1, 1},
  OperatorTraits{kStochasticDepth,   "stochastic_depth",  kElementwise, false, false,  0,     1,  1,   2, 1},
  OperatorTraits{kCrossEntropy,      "cross_entropy",     kReduction,   true,  false,  0,     8,  4,   2, 2},
  OperatorTraits{kMeanSquaredError,  "mean_squared_error", kReduction,  true,  false,  0,     3,  2,   1, 1},
  OperatorTraits{kBinaryCrossEntropy, "binary_cross_entropy", kReduction, true, false, 0,    8,  4,   2, 1},
};
// clang-format on

constexpr bool rows_are_in_enum_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].kind) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_enum_order());
static_assert(kTable.size() == static_cast<std::size_t>(kBinaryCrossEntropy) + 1);

}  // namespace

const OperatorTraits& traits(OperatorKind kind) {
  return kTable[static_cast<std::size_t>(kind)];
}

std::string_view to_string(OperatorKind kind) {
  return traits(kind).name;
}

Result<OperatorKind> parse_operator_kind(std::string_view name) {
  std::vector<std::string> names;
  for (const OperatorTraits& row : kTable) {
    if (row.name == name) return row.kind;
    names.emplace_back(row.name);
  }
  return Error::invalid(fmt::format("unknown operator kind \"{}\"{}", name, did_you_mean(name, names)));
}

}  // namespace orrery::workload
