// RegNet (Radosavovic et al. 2020). Widths come from a quantised line: block j wants w0 + wa·j channels and gets the
// nearest w0·wm^k, rounded to a multiple of 8; blocks of equal width form a stage (equations 2 to 4).

#include <cmath>
#include <fmt/format.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

struct Stage {
  std::int64_t width;
  std::int64_t blocks;
  std::int64_t group_width;
};

std::vector<Stage> stages_of(const OptionValues& p) {
  constexpr double kQuantum = 8;
  const auto w0 = static_cast<double>(p.integer("w0"));
  std::vector<Stage> stages;
  for (std::int64_t j = 0; j < p.integer("depth"); ++j) {
    const double wanted = w0 + p.number("wa") * static_cast<double>(j);
    const double power = std::nearbyint(std::log(wanted / w0) / std::log(p.number("wm")));
    const double width = std::nearbyint(w0 * std::pow(p.number("wm"), power) / kQuantum) * kQuantum;
    const auto rounded = std::max(static_cast<std::int64_t>(kQuantum), static_cast<std::int64_t>(width));
    if (stages.empty() || stages.back().width != rounded) stages.push_back({rounded, 0, 0});
    ++stages.back().blocks;
  }
  // Groups must divide the width, so the width is adjusted.
  for (Stage& stage : stages) {
    stage.group_width = std::min(p.integer("group"), stage.width);
    const auto group = static_cast<double>(stage.group_width);
    const auto width = static_cast<double>(stage.width);
    stage.width = p.text("rounding") == "timm" ? static_cast<std::int64_t>(std::nearbyint(width / group) * group)
                                               : make_divisible(width, stage.group_width);
  }
  return stages;
}

Value block(GraphBuilder& g, Value x, const Stage& stage, std::int64_t stride, double gate_ratio) {
  const std::int64_t in = g.dim(x, 1);
  const bool projects = in != stage.width || stride != 1;
  const Value shortcut = projects ? conv_norm(g, x, "proj", {.out = stage.width, .stride = stride}, std::nullopt) : x;
  Value y = conv_norm(g, x, "f.a", {.out = stage.width}, OperatorKind::kRelu);
  const Conv grouped{.out = stage.width, .kernel = 3, .stride = stride, .groups = stage.width / stage.group_width};
  y = conv_norm(g, y, "f.b", grouped, OperatorKind::kRelu);
  if (gate_ratio > 0) {
    const auto squeezed = static_cast<std::int64_t>(std::nearbyint(gate_ratio * static_cast<double>(in)));
    y = squeeze_excitation(g, y, "f.se", {.squeezed = std::max<std::int64_t>(1, squeezed)});
  }
  y = conv_norm(g, y, "f.c", {.out = stage.width}, std::nullopt);
  return g.relu(g.sum_of(shortcut, y));
}

Result<TrainingGraph> build_regnet(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = conv_norm(g, x, "stem", {.out = p.integer("stem"), .kernel = 3, .stride = 2}, OperatorKind::kRelu);
  int number = 1;
  for (const Stage& stage : stages_of(p)) {
    for (std::int64_t i = 0; i < stage.blocks && !g.failed(); ++i) {
      const auto scope = g.scope(fmt::format("trunk_output.block{}.block{}-{}", number, number, i));
      x = block(g, x, stage, i == 0 ? 2 : 1, p.number("gate"));
    }
    ++number;
  }
  g.cross_entropy(g.linear(pooled_features(g, x), "fc", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_regnet(Catalog& catalog) {
  catalog.family(
      "regnet", "RegNet: widths on a quantised line (X), with gates (Y)",
      {integer_option("depth", 16, "blocks").bounds(1, 1000), size_parameter("w0", 48, "channels of the first block"),
       number_option("wa", 27.89, "channels added per block, before quantisation").bounds(0, 10000),
       number_option("wm", 2.09, "ratio of the widths of neighbouring stages").bounds(1.01, 100),
       size_parameter("group", 8, "channels per group of the 3×3 convolutions"),
       number_option("gate", 0.25, "squeezed channels per input channel; 0 leaves gates out").bounds(0, 1),
       choice_option("rounding", "torchvision", {"torchvision", "timm"},
                     "whose rule rounds a stage's width to a multiple of the group"),
       size_parameter("stem", 32, "channels of the first convolution"), image_parameter(), channels_parameter(),
       classes_parameter()},
      build_regnet);
  catalog.variant("regnet_y_400mf", "regnet");
  catalog.variant("regnet_y_800mf", "regnet", "depth=14,w0=56,wa=38.84,wm=2.4,group=16");
  catalog.variant("regnet_y_1_6gf", "regnet", "depth=27,w0=48,wa=20.71,wm=2.65,group=24");
  catalog.variant("regnet_y_3_2gf", "regnet", "depth=21,w0=80,wa=42.63,wm=2.66,group=24");
  catalog.variant("regnet_y_8gf", "regnet", "depth=17,w0=192,wa=76.82,wm=2.19,group=56");
  catalog.variant("regnet_y_16gf", "regnet", "depth=18,w0=200,wa=106.23,wm=2.48,group=112");
  catalog.variant("regnet_y_32gf", "regnet", "depth=20,w0=232,wa=115.89,wm=2.53,group=232");
  catalog.variant("regnet_y_128gf", "regnet", "depth=27,w0=456,wa=160.83,wm=2.52,group=264");
  catalog.variant("regnet_x_400mf", "regnet", "depth=22,w0=24,wa=24.48,wm=2.54,group=16,gate=0");
  catalog.variant("regnet_x_800mf", "regnet", "depth=16,w0=56,wa=35.73,wm=2.28,group=16,gate=0");
  catalog.variant("regnet_x_1_6gf", "regnet", "depth=18,w0=80,wa=34.01,wm=2.25,group=24,gate=0");
  catalog.variant("regnet_x_3_2gf", "regnet", "depth=25,w0=88,wa=26.31,wm=2.25,group=48,gate=0");
  catalog.variant("regnet_x_8gf", "regnet", "depth=23,w0=80,wa=49.56,wm=2.88,group=120,gate=0");
  catalog.variant("regnet_x_16gf", "regnet", "depth=22,w0=216,wa=55.59,wm=2.1,group=128,gate=0");
  catalog.variant("regnet_x_32gf", "regnet", "depth=23,w0=320,wa=69.86,wm=2.0,group=168,gate=0");
}

}  // namespace orrery::workload::zoo
