// ConvNeXt (Liu et al. 2022).

#include <fmt/format.h>
#include <numeric>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

constexpr std::int64_t kExpansion = 4;

// Layer norm over channels of [batch, channels, height, width]: views around one operator.
Value channel_norm(GraphBuilder& g, Value x, const std::string& name) {
  x = g.layer_norm(g.transpose(x, {0, 2, 3, 1}), name);
  return g.transpose(x, {0, 3, 1, 2});
}

Value linear_mlp(GraphBuilder& g, Value x) {
  const std::int64_t channels = g.dim(x, 1);
  x = g.layer_norm(g.transpose(x, {0, 2, 3, 1}), "block.2");
  x = g.activate(OperatorKind::kGelu, g.linear(x, "block.3", kExpansion * channels));
  return g.transpose(g.linear(x, "block.5", channels), {0, 3, 1, 2});
}

Value conv_mlp(GraphBuilder& g, Value x) {
  const std::int64_t channels = g.dim(x, 1);
  x = g.conv(channel_norm(g, x, "block.2"), "block.3", {.out = kExpansion * channels});
  return g.conv(g.activate(OperatorKind::kGelu, x), "block.5", {.out = channels});
}

Value block(GraphBuilder& g, Value input, bool is_conv, double skip_rate) {
  const std::int64_t channels = g.dim(input, 1);
  Value x = g.conv(input, "block.0", {.out = channels, .kernel = 7, .padding = 3, .groups = channels});
  x = is_conv ? conv_mlp(g, x) : linear_mlp(g, x);
  x = g.product(g.parameter("layer_scale", {channels, 1, 1}), x);
  return g.sum_of(g.stochastic_depth(x, skip_rate), input, true);
}

Value stem(GraphBuilder& g, Value x, const std::string& kind, std::int64_t out) {
  const auto scope = g.scope("features.0");
  if (kind == "patch") return channel_norm(g, g.conv(x, "0", {.out = out, .kernel = 4, .stride = 4}), "1");
  const std::int64_t half = out / 2;
  const std::int64_t middle = kind == "tiered" ? make_divisible(static_cast<double>(half)) : out;
  x = g.conv(x, "0", {.out = middle, .kernel = 3, .stride = 2, .padding = 1});
  return channel_norm(g, g.conv(x, "1", {.out = out, .kernel = 3, .stride = 2, .padding = 1}), "2");
}

Result<TrainingGraph> build_convnext(const std::string& name, const OptionValues& p) {
  ORRERY_TRY(const std::vector<std::int64_t> depths, parse_depths(p.text("depths"), "depths"));
  const std::int64_t width = p.integer("width");
  const std::int64_t total = std::accumulate(depths.begin(), depths.end(), std::int64_t{0});
  GraphBuilder g(name);
  Value x = stem(g, image_input(g, p), p.text("stem"), width);
  std::int64_t done = 0;
  for (std::size_t stage = 0; stage < depths.size(); ++stage) {
    if (stage > 0) {
      const auto scope = g.scope(fmt::format("features.{}", 2 * stage));
      x = g.conv(channel_norm(g, x, "0"), "1", {.out = width << stage, .kernel = 2, .stride = 2});
    }
    for (std::int64_t i = 0; i < depths[stage] && !g.failed(); ++i) {
      const auto scope = g.scope(fmt::format("features.{}.{}", 2 * stage + 1, i));
      const double place = total > 1 ? static_cast<double>(done++) / static_cast<double>(total - 1) : 0;
      x = block(g, x, p.text("mlp") == "conv", p.number("stochastic_depth") * place);
    }
  }
  if (p.text("head") == "norm") {
    x = pooled_features(g, channel_norm(g, x, "classifier.0"));
  } else {
    x = g.flatten(channel_norm(g, g.adaptive_avg_pool(x, 1, 1), "classifier.0"));
  }
  if (p.integer("hidden") > 0) x = g.activate(OperatorKind::kGelu, g.linear(x, "classifier.1", p.integer("hidden")));
  g.cross_entropy(g.linear(x, "classifier.2", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_convnext(Catalog& catalog) {
  catalog.family(
      "convnext", "ConvNeXt: convolutional blocks shaped like those of a transformer",
      {text_option("depths", "3-3-9-3", "blocks of each stage"),
       size_parameter("width", 96, "channels of the first stage; they double in each later one"),
       choice_option("mlp", "linear", {"linear", "conv"},
                     "whether blocks mix channels by linear layers or 1×1 convolutions"),
       choice_option("stem", "patch", {"patch", "overlap", "tiered"},
                     "one 4×4 convolution, or two overlapping ones (tiered: the first half as wide)"),
       choice_option("head", "pool", {"pool", "norm"}, "whether pooling or norm comes first after the blocks"),
       integer_option("hidden", 0, "units of a layer before the classifier; 0 leaves it out").bounds(0, 1 << 20),
       image_parameter(), channels_parameter(), classes_parameter(), stochastic_depth_parameter(0.1)},
      build_convnext);
  catalog.variant("convnext_tiny", "convnext");
  catalog.variant("convnext_small", "convnext", "depths=3-3-27-3,stochastic_depth=0.4");
  catalog.variant("convnext_base", "convnext", "depths=3-3-27-3,width=128,stochastic_depth=0.5");
  catalog.variant("convnext_large", "convnext", "depths=3-3-27-3,width=192,stochastic_depth=0.5");
}

}  // namespace orrery::workload::zoo
