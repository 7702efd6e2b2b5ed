#include "predict/neural/ets_features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace orrery::predict {

namespace {

constexpr std::array<std::string_view, kEtsTypes - 1> kTypes = {
    "add_",         "mul_",        "conv2d",  "__mul__",     "sigmoid",    "batch_norm",
    "relu",         "__iadd__",    "silu",    "linear",      "bernoulli_", "adaptive_avg_pool2d",
    "layer_norm",   "normalize",   "__add__", "matmul",      "gelu",       "cat",
    "aten::clone",  "aten::index", "softmax", "__truediv__", "__matmul__", "reshape",
    "cross_entropy"};
constexpr std::size_t kOthers = kEtsTypes - 1;
constexpr std::size_t kPhasesAt = kEtsTypes, kFormatsAt = kPhasesAt + 3, kSizesAt = kFormatsAt + 3;
constexpr std::size_t kParametersAt = kSizesAt + 4, kParameters = 30;
static_assert(kParametersAt + kParameters == kEtsFeatures);

float logarithm(double value) {
  return static_cast<float>(std::log1p(std::max(value, 0.0)));
}

}  // namespace

std::size_t ets_type_of(std::string_view kind_name) {
  if (kind_name == "dropout") kind_name = "__iadd__";
  const auto* const found = std::find(kTypes.begin(), kTypes.end(), kind_name);
  return found == kTypes.end() ? kOthers : static_cast<std::size_t>(found - kTypes.begin());
}

EtsTypes ets_types_of(const std::map<std::int32_t, std::string>& kinds) {
  EtsTypes types;
  for (const auto& [kind, name] : kinds) types[kind] = static_cast<std::uint8_t>(ets_type_of(name));
  return types;
}

void ets_features(const LaunchTrace& trace, std::size_t row, const EtsTypes& types, SizeForm sizes,
                  std::span<float> out) {
  ORRERY_CHECK(out.size() == kEtsFeatures);
  const LaunchedOperator& op = trace.operators[row];
  const auto type = types.find(op.kind);
  std::fill(out.begin(), out.end(), 0.0F);
  out[type == types.end() ? kOthers : type->second] = 1;
  out[kPhasesAt + static_cast<std::size_t>(op.phase)] = 1;
  out[kFormatsAt] = 1;
  const double raw[] = {static_cast<double>(trace.batch), static_cast<double>(trace.image), op.flops, op.bytes};
  for (std::size_t i = 0; i < std::size(raw); ++i) {
    out[kSizesAt + i] = sizes == SizeForm::kPublished ? static_cast<float>(raw[i]) : logarithm(raw[i]);
  }
  const std::size_t count = std::min(op.parameters.size(), kParameters);
  for (std::size_t i = 0; i < count; ++i) out[kParametersAt + i] = logarithm(op.parameters[i]);
}

}  // namespace orrery::predict
