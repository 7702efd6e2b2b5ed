#include "workload/zoo/conv_blocks.h"

#include <charconv>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::workload::zoo {

namespace {

Value padded_to_same(GraphBuilder& g, Value x, const Conv& conv) {
  const auto missing = [&](int axis) {
    const std::int64_t size = g.dim(x, axis);
    const std::int64_t windows = (size + conv.stride - 1) / conv.stride;
    return std::max<std::int64_t>(0, (windows - 1) * conv.stride + (conv.kernel - 1) * conv.dilation + 1 - size);
  };
  const std::int64_t height = missing(2), width = missing(3);
  if (height == 0 && width == 0) return x;
  return g.pad(x, {0, 0, height / 2, width / 2}, {0, 0, height - height / 2, width - width / 2});
}

}  // namespace

std::int64_t make_divisible(double channels, std::int64_t divisor, double least_share) {
  const auto middle = channels + static_cast<double>(divisor) / 2;
  std::int64_t rounded = std::max(divisor, static_cast<std::int64_t>(middle) / divisor * divisor);
  if (static_cast<double>(rounded) < least_share * channels) rounded += divisor;
  return rounded;
}

Result<std::vector<std::int64_t>> parse_depths(std::string_view text, std::string_view what) {
  constexpr std::size_t kMost = 8;
  constexpr std::int64_t kLargest = 1000;
  std::vector<std::int64_t> depths;
  for (const std::string& part : split(text, '-')) {
    std::int64_t depth = 0;
    const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), depth);
    const bool is_number = failure == std::errc() && end == part.data() + part.size();
    if (!is_number || depth < 1 || depth > kLargest) {
      return Error::invalid(
          fmt::format("{}: \"{}\" in \"{}\" is not a whole number from 1 to {}", what, part, text, kLargest));
    }
    depths.push_back(depth);
  }
  if (depths.size() > kMost) return Error::invalid(fmt::format("{}: more than {} stages", what, kMost));
  return depths;
}

Value activated(GraphBuilder& g, OperatorKind activation, Value x) {
  return g.activate(activation, x, activation == OperatorKind::kRelu);
}

Value conv_norm(GraphBuilder& g, Value x, const std::string& name, Conv conv, std::optional<OperatorKind> activation,
                Padding padding) {
  const auto scope = g.scope(name);
  conv.padding = 0;
  if (padding == Padding::kSame && conv.stride > 1) {
    x = padded_to_same(g, x, conv);
  } else {
    conv.padding = (conv.kernel - 1) / 2 * conv.dilation;
  }
  conv.bias = false;
  x = g.batch_norm(g.conv(x, "0", conv), "1");
  return activation ? activated(g, *activation, x) : x;
}

Value squeeze_excitation(GraphBuilder& g, Value x, const std::string& name, const SqueezeExcitation& block) {
  const auto scope = g.scope(name);
  Value gate = g.adaptive_avg_pool(x, 1, 1);
  gate = g.activate(block.activation, g.conv(gate, "fc1", {.out = block.squeezed}));
  gate = g.activate(block.gate, g.conv(gate, "fc2", {.out = g.dim(x, 1)}));
  return g.product(gate, x);
}

Value pooled_features(GraphBuilder& g, Value x) {
  return g.flatten(g.adaptive_avg_pool(x, 1, 1));
}

OptionRecord dropout_parameter(double default_value) {
  return number_option("dropout", default_value, "dropout rate before the classifier").bounds(0, 1);
}

OptionRecord stochastic_depth_parameter(double default_value) {
  return number_option("stochastic_depth", default_value, "chance that the last residual block is skipped")
      .bounds(0, 1);
}

OptionRecord padding_parameter() {
  return choice_option("padding", "even", {"even", "same"}, "zero padding of strided convolutions; same: TensorFlow's");
}

Padding padding_of(const OptionValues& p) {
  return p.text("padding") == "same" ? Padding::kSame : Padding::kEven;
}

OptionRecord width_parameter() {
  return number_option("width", 1, "multiplier of all channel counts").bounds(0.01, 64);
}

}  // namespace orrery::workload::zoo
