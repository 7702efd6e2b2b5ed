// MobileNet v2 (Sandler et al. 2018) and v3 (Howard et al. 2019): inverted residuals of depthwise convolutions.

#include <fmt/format.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

// --- v2

struct V2Stage {
  std::int64_t expansion, out, blocks, stride;
};

constexpr V2Stage kV2Stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

Value v2_block(GraphBuilder& g, Value input, std::int64_t out, std::int64_t stride, std::int64_t expansion) {
  const auto scope = g.scope("conv");
  const std::int64_t hidden = g.dim(input, 1) * expansion;
  int index = 0;
  Value x = input;
  if (expansion != 1) x = conv_norm(g, x, std::to_string(index++), {.out = hidden}, OperatorKind::kRelu6);
  x = conv_norm(g, x, std::to_string(index++), {.out = hidden, .kernel = 3, .stride = stride, .groups = hidden},
                OperatorKind::kRelu6);
  x = g.conv(x, std::to_string(index), {.out = out, .bias = false});
  x = g.batch_norm(x, std::to_string(index + 1));
  return stride == 1 && g.dim(input, 1) == out ? g.sum_of(input, x) : x;
}

Result<TrainingGraph> build_mobilenet_v2(const std::string& name, const OptionValues& p) {
  const double width = p.number("width");
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = conv_norm(g, x, "features.0", {.out = make_divisible(32 * width), .kernel = 3, .stride = 2},
                OperatorKind::kRelu6);
  int index = 1;
  for (const V2Stage& stage : kV2Stages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      const auto scope = g.scope(fmt::format("features.{}", index++));
      x = v2_block(g, x, make_divisible(static_cast<double>(stage.out) * width), i == 0 ? stage.stride : 1,
                   stage.expansion);
    }
  }
  x = conv_norm(g, x, fmt::format("features.{}", index), {.out = make_divisible(1280 * std::max(1.0, width))},
                OperatorKind::kRelu6);
  x = g.dropout(pooled_features(g, x), p.number("dropout"));
  g.cross_entropy(g.linear(x, "classifier.1", p.integer("classes")));
  return g.finish();
}

// --- v3

struct V3Block {
  int kernel;
  std::int64_t expanded, out;
  bool has_gate;  // squeeze-and-excitation
  bool has_swish;
  std::int64_t stride;
};

constexpr V3Block kLarge[] = {
    {3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1},
    {5, 72, 40, true, false, 2},  {5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1},
    {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
    {3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1},
    {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1},
};
constexpr V3Block kSmall[] = {
    {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
    {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
    {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
    {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1},
};

// Channel counts at a width other than 1, on which torchvision and TIMM differ: TIMM scales only the inputs and outputs
// of blocks and keeps a narrow model's stem and last hidden layer.
struct V3Widths {
  double width;
  bool is_timm;

  std::int64_t scaled(std::int64_t channels) const { return make_divisible(static_cast<double>(channels) * width); }
  std::int64_t stem() const { return is_timm && width < 0.75 ? 16 : scaled(16); }
  std::int64_t expanded(const V3Block& block, std::int64_t unscaled_in, std::int64_t in) const {
    const double ratio = static_cast<double>(block.expanded) / static_cast<double>(unscaled_in);
    return is_timm ? make_divisible(static_cast<double>(in) * ratio) : scaled(block.expanded);
  }
  std::int64_t hidden(std::int64_t channels) const { return is_timm ? channels : scaled(channels); }
};

Value v3_block(GraphBuilder& g, Value input, const V3Block& block, std::int64_t expanded, std::int64_t out,
               Padding padding) {
  const OperatorKind activation = block.has_swish ? OperatorKind::kHardswish : OperatorKind::kRelu;
  int index = 0;
  const auto next = [&index] { return fmt::format("block.{}", index++); };
  Value x = input;
  if (expanded != g.dim(input, 1)) x = conv_norm(g, x, next(), {.out = expanded}, activation);
  x = conv_norm(g, x, next(), {.out = expanded, .kernel = block.kernel, .stride = block.stride, .groups = expanded},
                activation, padding);
  if (block.has_gate) {
    const std::int64_t quarter = expanded / 4;
    const std::int64_t squeezed = make_divisible(static_cast<double>(quarter));
    x = squeeze_excitation(g, x, next(), {.squeezed = squeezed, .gate = OperatorKind::kHardsigmoid});
  }
  x = conv_norm(g, x, next(), {.out = out}, std::nullopt);
  return block.stride == 1 && g.dim(input, 1) == out ? g.sum_of(x, input, true) : x;
}

Result<TrainingGraph> build_v3(const std::string& name, const OptionValues& p) {
  const bool is_large = p.text("size") == "large";
  const std::span<const V3Block> blocks =
      is_large ? std::span<const V3Block>(kLarge) : std::span<const V3Block>(kSmall);
  const V3Widths widths{p.number("width"), p.text("rounding") == "timm"};
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = conv_norm(g, x, "features.0", {.out = widths.stem(), .kernel = 3, .stride = 2}, OperatorKind::kHardswish,
                padding_of(p));
  std::int64_t unscaled_in = 16;
  int index = 1;
  for (const V3Block& block : blocks) {
    const auto scope = g.scope(fmt::format("features.{}", index++));
    const std::int64_t expanded = widths.expanded(block, unscaled_in, g.dim(x, 1));
    x = v3_block(g, x, block, expanded, widths.scaled(block.out), padding_of(p));
    unscaled_in = block.out;
  }
  x = conv_norm(g, x, fmt::format("features.{}", index), {.out = 6 * g.dim(x, 1)}, OperatorKind::kHardswish);
  x = g.linear(pooled_features(g, x), "classifier.0", widths.hidden(is_large ? 1280 : 1024));
  x = g.dropout(g.activate(OperatorKind::kHardswish, x), p.number("dropout"));
  g.cross_entropy(g.linear(x, "classifier.3", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_mobilenet(Catalog& catalog) {
  catalog.family(
      "mobilenet_v2", "MobileNet v2: inverted residuals",
      {width_parameter(), image_parameter(), channels_parameter(), classes_parameter(), dropout_parameter(0.2)},
      build_mobilenet_v2);
  catalog.variant("mobilenet_v2", "mobilenet_v2");
  catalog.family(
      "mobilenet_v3", "MobileNet v3: inverted residuals with gates, found by search",
      {choice_option("size", "large", {"large", "small"}, "which of the two layouts"), width_parameter(),
       choice_option("rounding", "torchvision", {"torchvision", "timm"},
                     "whose rule gives the channel counts at a width other than 1"),
       padding_parameter(), image_parameter(), channels_parameter(), classes_parameter(), dropout_parameter(0.2)},
      build_v3);
  catalog.variant("mobilenet_v3_large", "mobilenet_v3");
  catalog.variant("mobilenet_v3_small", "mobilenet_v3", "size=small");
}

}  // namespace orrery::workload::zoo
