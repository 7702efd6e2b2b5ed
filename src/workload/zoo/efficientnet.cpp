// EfficientNet v1 (Tan and Le 2019) and v2 (Tan and Le 2021).

#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

struct Stage {
  bool is_fused;  // expands with the k×k convolution itself and has no gate
  std::int64_t expansion, kernel, stride, out, blocks;
};

constexpr Stage kV1[] = {
    {false, 1, 3, 1, 16, 1},  {false, 6, 3, 2, 24, 2},  {false, 6, 5, 2, 40, 2},  {false, 6, 3, 2, 80, 3},
    {false, 6, 5, 1, 112, 3}, {false, 6, 5, 2, 192, 4}, {false, 6, 3, 1, 320, 1},
};
constexpr Stage kV2Base[] = {
    {true, 1, 3, 1, 16, 1},  {true, 4, 3, 2, 32, 2},   {true, 4, 3, 2, 48, 2},
    {false, 4, 3, 2, 96, 3}, {false, 6, 3, 1, 112, 5}, {false, 6, 3, 2, 192, 8},
};
constexpr Stage kV2Small[] = {
    {true, 1, 3, 1, 24, 2},   {true, 4, 3, 2, 48, 4},   {true, 4, 3, 2, 64, 4},
    {false, 4, 3, 2, 128, 6}, {false, 6, 3, 1, 160, 9}, {false, 6, 3, 2, 256, 15},
};
constexpr Stage kV2Medium[] = {
    {true, 1, 3, 1, 24, 3},    {true, 4, 3, 2, 48, 5},    {true, 4, 3, 2, 80, 5},   {false, 4, 3, 2, 160, 7},
    {false, 6, 3, 1, 176, 14}, {false, 6, 3, 2, 304, 18}, {false, 6, 3, 1, 512, 5},
};
constexpr Stage kV2Large[] = {
    {true, 1, 3, 1, 32, 4},    {true, 4, 3, 2, 64, 7},    {true, 4, 3, 2, 96, 7},   {false, 4, 3, 2, 192, 10},
    {false, 6, 3, 1, 224, 19}, {false, 6, 3, 2, 384, 25}, {false, 6, 3, 1, 640, 7},
};
constexpr Stage kV2ExtraLarge[] = {
    {true, 1, 3, 1, 32, 4},    {true, 4, 3, 2, 64, 8},    {true, 4, 3, 2, 96, 8},   {false, 4, 3, 2, 192, 16},
    {false, 6, 3, 1, 256, 24}, {false, 6, 3, 2, 512, 32}, {false, 6, 3, 1, 640, 8},
};

struct V2Layout {
  std::string_view size;
  std::int64_t stem;
  std::span<const Stage> stages;
};
constexpr V2Layout kV2Layouts[] = {
    {"base", 32, kV2Base}, {"s", 24, kV2Small}, {"m", 24, kV2Medium}, {"l", 32, kV2Large}, {"xl", 32, kV2ExtraLarge}};

struct Layout {
  std::int64_t stem = 0;
  std::vector<Stage> stages;
  std::int64_t head = 0;
  OperatorKind activation = OperatorKind::kSilu;
  bool has_gates = true;
  Padding padding = Padding::kEven;
};

Value fused_block(GraphBuilder& g, Value x, const Layout& layout, const Stage& stage, std::int64_t stride,
                  std::int64_t expanded) {
  const bool expands = expanded != g.dim(x, 1);
  const Conv conv{.out = expands ? expanded : stage.out, .kernel = stage.kernel, .stride = stride};
  x = conv_norm(g, x, "block.0", conv, layout.activation, layout.padding);
  return expands ? conv_norm(g, x, "block.1", {.out = stage.out}, std::nullopt) : x;
}

Value depthwise_block(GraphBuilder& g, Value x, const Layout& layout, const Stage& stage, std::int64_t stride,
                      std::int64_t expanded) {
  const std::int64_t in = g.dim(x, 1);
  int index = 0;
  const auto next = [&index] { return fmt::format("block.{}", index++); };
  if (expanded != in) x = conv_norm(g, x, next(), {.out = expanded}, layout.activation);
  x = conv_norm(g, x, next(), {.out = expanded, .kernel = stage.kernel, .stride = stride, .groups = expanded},
                layout.activation, layout.padding);
  if (layout.has_gates) {
    const std::int64_t squeezed = std::max<std::int64_t>(1, in / 4);
    x = squeeze_excitation(g, x, next(), {.squeezed = squeezed, .activation = layout.activation});
  }
  return conv_norm(g, x, next(), {.out = stage.out}, std::nullopt);
}

Value block(GraphBuilder& g, Value input, const Layout& layout, const Stage& stage, std::int64_t stride,
            double skip_rate) {
  const std::int64_t in = g.dim(input, 1);
  const std::int64_t expanded = make_divisible(static_cast<double>(in * stage.expansion));
  const Value x = stage.is_fused ? fused_block(g, input, layout, stage, stride, expanded)
                                 : depthwise_block(g, input, layout, stage, stride, expanded);
  if (stride != 1 || in != stage.out) return x;
  return g.sum_of(g.stochastic_depth(x, skip_rate), input, true);
}

Result<TrainingGraph> build_efficientnet(const std::string& name, const OptionValues& p, const Layout& layout) {
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = conv_norm(g, x, "features.0", {.out = layout.stem, .kernel = 3, .stride = 2}, layout.activation, layout.padding);
  const std::int64_t total = std::accumulate(layout.stages.begin(), layout.stages.end(), std::int64_t{0},
                                             [](std::int64_t sum, const Stage& stage) { return sum + stage.blocks; });
  std::int64_t done = 0;
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const Stage& stage = layout.stages[s];
    for (std::int64_t i = 0; i < stage.blocks && !g.failed(); ++i) {
      const auto scope = g.scope(fmt::format("features.{}.{}", s + 1, i));
      const double place = static_cast<double>(done++) / static_cast<double>(total);
      x = block(g, x, layout, stage, i == 0 ? stage.stride : 1, p.number("stochastic_depth") * place);
    }
  }
  x = conv_norm(g, x, fmt::format("features.{}", layout.stages.size() + 1), {.out = layout.head}, layout.activation);
  x = g.dropout(pooled_features(g, x), p.number("dropout"));
  g.cross_entropy(g.linear(x, "classifier.1", p.integer("classes")));
  return g.finish();
}

std::int64_t scaled_depth(std::int64_t blocks, const OptionValues& p) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(blocks) * p.number("depth")));
}

Layout v1_layout(const OptionValues& p) {
  const double width = p.number("width");
  Layout layout;
  layout.stem = make_divisible(32 * width);
  layout.stages.assign(std::begin(kV1), std::end(kV1));
  for (Stage& stage : layout.stages) {
    stage.out = make_divisible(static_cast<double>(stage.out) * width);
    stage.blocks = scaled_depth(stage.blocks, p);
  }
  layout.head = 4 * layout.stages.back().out;
  layout.padding = padding_of(p);
  return layout;
}

Result<TrainingGraph> build_v1(const std::string& name, const OptionValues& p) {
  return build_efficientnet(name, p, v1_layout(p));
}

// For devices without fast gates and SiLU: neither is used, and both ends keep their size when the rest is scaled.
Result<TrainingGraph> build_lite(const std::string& name, const OptionValues& p) {
  Layout layout = v1_layout(p);
  layout.stem = 32;
  layout.stages.front().blocks = 1;
  layout.stages.back().blocks = 1;
  layout.head = 1280;
  layout.activation = OperatorKind::kRelu6;
  layout.has_gates = false;
  return build_efficientnet(name, p, layout);
}

// The reference code of v2 rounds to the nearest multiple of 8, without v1's guard against losing a tenth.
std::int64_t nearest_width(std::int64_t channels, double width) {
  return make_divisible(static_cast<double>(channels) * width, 8, 0);
}

Result<TrainingGraph> build_v2(const std::string& name, const OptionValues& p) {
  const double width = p.number("width");
  Layout layout;
  layout.padding = padding_of(p);
  for (const V2Layout& candidate : kV2Layouts) {
    if (candidate.size != p.text("size")) continue;
    layout.stem = nearest_width(candidate.stem, width);
    layout.stages.assign(candidate.stages.begin(), candidate.stages.end());
  }
  for (Stage& stage : layout.stages) {
    stage.out = nearest_width(stage.out, width);
    stage.blocks = scaled_depth(stage.blocks, p);
  }
  layout.head = nearest_width(1280, width);
  return build_efficientnet(name, p, layout);
}

OptionRecord depth_parameter() {
  return number_option("depth", 1, "multiplier of the blocks of each stage").bounds(0.01, 64);
}

}  // namespace

void register_efficientnet(Catalog& catalog) {
  catalog.family("efficientnet", "EfficientNet: width, depth and input size scaled together",
                 {width_parameter(), depth_parameter(), padding_parameter(), image_parameter(), channels_parameter(),
                  classes_parameter(), dropout_parameter(0.2), stochastic_depth_parameter(0.2)},
                 build_v1);
  struct V1Variant {
    double width, depth;
    int input;
    double dropout;
  };
  constexpr V1Variant kVariants[] = {{1.0, 1.0, 224, 0.2}, {1.0, 1.1, 240, 0.2}, {1.1, 1.2, 260, 0.3},
                                     {1.2, 1.4, 300, 0.3}, {1.4, 1.8, 380, 0.4}, {1.6, 2.2, 456, 0.4},
                                     {1.8, 2.6, 528, 0.5}, {2.0, 3.1, 600, 0.5}, {2.2, 3.6, 672, 0.5}};
  int number = 0;
  for (const V1Variant& v : kVariants) {
    catalog.variant(fmt::format("efficientnet_b{}", number++), "efficientnet",
                    fmt::format("width={},depth={},input={},dropout={}", v.width, v.depth, v.input, v.dropout));
  }
  catalog.family("efficientnet_lite", "EfficientNet without gates, for mobile devices",
                 {width_parameter(), depth_parameter(), padding_parameter(), image_parameter(), channels_parameter(),
                  classes_parameter(), dropout_parameter(0.2), stochastic_depth_parameter(0.2)},
                 build_lite);
  for (int i = 0; i < 5; ++i) {
    const V1Variant& v = kVariants[i];
    catalog.variant(fmt::format("efficientnet_lite{}", i), "efficientnet_lite",
                    fmt::format("width={},depth={},input={},dropout={}", v.width, v.depth, v.input, v.dropout));
  }
  catalog.family("efficientnet_v2", "EfficientNet v2: fused early stages",
                 {choice_option("size", "s", {"base", "s", "m", "l", "xl"}, "which of the layouts"), width_parameter(),
                  depth_parameter(), padding_parameter(), image_parameter(384), channels_parameter(),
                  classes_parameter(), dropout_parameter(0.2), stochastic_depth_parameter(0.2)},
                 build_v2);
  catalog.variant("efficientnet_v2_s", "efficientnet_v2");
  catalog.variant("efficientnet_v2_m", "efficientnet_v2", "size=m,input=480,dropout=0.3");
  catalog.variant("efficientnet_v2_l", "efficientnet_v2", "size=l,input=480,dropout=0.4");
}

}  // namespace orrery::workload::zoo
