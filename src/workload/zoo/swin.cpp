// Swin Transformer, Liu et al. 2021: attention inside windows that shift from block to block.

#include <fmt/format.h>

#include "workload/zoo/attention.h"

namespace orrery::workload::zoo {

namespace {

struct WindowStage {
  std::int64_t height, width;  // of the feature map
  std::int64_t window;
  std::int64_t heads;
  bool fused;
};

// [batch, height, width, channels] → [batch · windows, window², channels].
Value into_windows(GraphBuilder& g, Value x, const WindowStage& s) {
  const std::int64_t w = s.window, channels = g.dim(x, 3);
  x = g.reshape(x, {-1, s.height / w, w, s.width / w, w, channels});
  return g.reshape(g.contiguous(g.transpose(x, {0, 1, 3, 2, 4, 5})), {-1, w * w, channels});
}

Value out_of_windows(GraphBuilder& g, Value x, const WindowStage& s) {
  const std::int64_t w = s.window, channels = g.dim(x, 2);
  x = g.reshape(x, {-1, s.height / w, s.width / w, w, w, channels});
  return g.reshape(g.contiguous(g.transpose(x, {0, 1, 3, 2, 4, 5})), {-1, s.height, s.width, channels});
}

Value window_attention(GraphBuilder& g, Value x, const WindowStage& s, bool shifted) {
  const std::int64_t channels = g.dim(x, 3), tokens = s.window * s.window;
  if (shifted) x = g.roll(x);
  x = into_windows(g, x, s);
  const auto qkv = g.chunk(g.linear(x, "qkv", 3 * channels), 3, 2);
  const std::int64_t side = 2 * s.window - 1;
  Value bias = g.parameter("relative_position_bias_table", {side * side, s.heads});
  bias = g.index(bias, {1, s.heads, tokens, tokens});
  const Value q = split_heads(g, qkv[0], s.heads);
  const Value k = split_heads(g, qkv[1], s.heads);
  const Value v = split_heads(g, qkv[2], s.heads);
  if (s.fused) {
    x = g.attention(q, k, v, false);
  } else {
    Value scores = g.sum_of(g.matmul(g.scaled(q), g.transpose(k, {0, 1, 3, 2})), bias);
    if (shifted) scores = g.scaled(scores);  // adds the mask of the rolled border
    x = g.matmul(g.softmax(scores), v);
  }
  x = out_of_windows(g, g.linear(merge_heads(g, x), "proj", channels), s);
  return shifted ? g.roll(x) : x;
}

Value block(GraphBuilder& g, Value x, const WindowStage& s, bool shifted, double drop) {
  const std::int64_t channels = g.dim(x, 3);
  Value y = g.layer_norm(x, "norm1");
  {
    const auto scope = g.scope("attn");
    y = window_attention(g, y, s, shifted);
  }
  x = g.sum_of(x, g.stochastic_depth(y, drop));
  y = g.activate(OperatorKind::kGelu, g.linear(g.layer_norm(x, "norm2"), "mlp.0", 4 * channels));
  y = g.linear(y, "mlp.3", channels);
  return g.sum_of(x, g.stochastic_depth(y, drop));
}

Value merge_patches(GraphBuilder& g, Value x) {
  const std::int64_t channels = g.dim(x, 3), height = g.dim(x, 1), width = g.dim(x, 2);
  std::vector<Value> corners;
  for (const auto& [row, column] : {std::pair(0, 0), std::pair(1, 0), std::pair(0, 1), std::pair(1, 1)}) {
    corners.push_back(g.slice(g.slice(x, 1, row, height, 2), 2, column, width, 2));
  }
  return g.linear(g.layer_norm(g.concat(corners, 3), "norm"), "reduction", 2 * channels, false);
}

Result<TrainingGraph> build_swin(const std::string& name, const OptionValues& p) {
  const std::int64_t last = p.integer("depth3");
  const std::int64_t depths[] = {2, 2, last, 2};
  GraphBuilder g(name);
  const std::int64_t hidden = p.integer("hidden");
  Value x = image_input(g, p);
  x = g.conv(x, "features.0.0", {.out = hidden, .kernel = 4, .stride = 4});
  x = g.layer_norm(g.transpose(x, {0, 2, 3, 1}), "features.0.2");
  std::int64_t done = 0;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t height = g.dim(x, 1), width = g.dim(x, 2);
    const std::int64_t window = p.integer("window");
    if (!g.failed() && (height % window != 0 || width % window != 0)) {
      g.fail(
          Error::invalid(fmt::format("stage {}: {}×{} does not divide into windows of {}; choose an input size that "
                                     "is a multiple of {}",
                                     stage + 1, height, width, window, 32 * window)));
    }
    const WindowStage s{height, width, window, p.integer("heads") << stage, is_fused(p)};
    for (std::int64_t i = 0; i < depths[stage]; ++i) {
      const auto scope = g.scope(fmt::format("features.{}.{}", 2 * stage + 1, i));
      const double drop = p.number("drop_path") * static_cast<double>(done++) / static_cast<double>(last + 5);
      x = block(g, x, s, i % 2 == 1 && window < height, drop);
    }
    if (stage == 3) break;
    const auto scope = g.scope(fmt::format("features.{}", 2 * stage + 2));
    x = merge_patches(g, x);
  }
  x = g.transpose(g.layer_norm(x, "norm"), {0, 3, 1, 2});
  x = g.flatten(g.adaptive_avg_pool(x, 1, 1));
  g.cross_entropy(g.linear(x, "head", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_swin(Catalog& catalog) {
  catalog.family("swin", "hierarchical vision transformers with shifted windows",
                 {size_parameter("hidden", 96, "width of the first stage"),
                  integer_option("depth3", 6, "blocks of the third stage").bounds(1, 1000),
                  size_parameter("heads", 3, "attention heads of the first stage"),
                  size_parameter("window", 7, "side of a window, in tokens"),
                  number_option("drop_path", 0.2, "stochastic depth of the last block").bounds(0, 1),
                  attention_parameter("explicit"), image_parameter(), channels_parameter(), classes_parameter()},
                 build_swin);
  catalog.variant("swin_t", "swin");
  catalog.variant("swin_s", "swin", "depth3=18,drop_path=0.3");
  catalog.variant("swin_b", "swin", "hidden=128,depth3=18,heads=4,drop_path=0.5");
}

}  // namespace orrery::workload::zoo
