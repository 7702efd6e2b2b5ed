// Vision Transformer, Dosovitskiy et al. 2020.

#include "workload/zoo/attention.h"

namespace orrery::workload::zoo {

namespace {

struct Layer {
  AttentionSpec attention;
  std::int64_t mlp;
  double dropout;
  bool layer_scale;
};

Value scaled_by_layer(GraphBuilder& g, Value x, const std::string& name, bool on) {
  if (!on) return x;
  return g.product(x, g.parameter(name, {g.dim(x, 2)}));
}

Value encoder_layer(GraphBuilder& g, Value x, const Layer& layer) {
  const std::int64_t hidden = g.dim(x, 2);
  Value y = g.layer_norm(x, "ln_1");
  y = packed_attention(g, y, {"self_attention.in_proj", "self_attention.out_proj"}, layer.attention);
  y = scaled_by_layer(g, g.dropout(y, layer.dropout), "ls_1", layer.layer_scale);
  x = g.sum_of(y, x);
  y = g.activate(OperatorKind::kGelu, g.linear(g.layer_norm(x, "ln_2"), "mlp.0", layer.mlp));
  y = g.linear(g.dropout(y, layer.dropout), "mlp.3", hidden);
  y = scaled_by_layer(g, g.dropout(y, layer.dropout), "ls_2", layer.layer_scale);
  return g.sum_of(x, y);
}

Result<TrainingGraph> build_vit(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const std::int64_t hidden = p.integer("hidden"), patch = p.integer("patch");
  Value x = image_input(g, p);
  x = g.conv(x, "conv_proj", {.out = hidden, .kernel = patch, .stride = patch});
  const std::int64_t patches = g.dim(x, 2) * g.dim(x, 3);
  x = g.transpose(g.reshape(x, {0, hidden, patches}), {0, 2, 1});
  const std::int64_t extra = (p.text("pool") == "token" ? 1 : 0) + p.integer("registers");
  const bool all_tokens = p.text("positions") == "all";
  const Value table = g.parameter("encoder.pos_embedding", {1, patches + (all_tokens ? extra : 0), hidden});
  if (!all_tokens) x = g.sum_of(x, table);
  if (extra > 0) {
    const Value tokens = g.expand(g.parameter("class_token", {1, extra, hidden}), x);
    x = g.concat({tokens, x}, 1);
  }
  if (all_tokens) x = g.sum_of(x, table);
  x = g.dropout(x, p.number("dropout"));
  if (p.text("pre_norm") == "yes") x = g.layer_norm(x, "encoder.pre_norm");
  const Layer layer{{.heads = p.integer("heads"), .fused = is_fused(p)},
                    p.integer("mlp"),
                    p.number("dropout"),
                    p.text("layer_scale") == "yes"};
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    const auto scope = g.scope("encoder.layers.encoder_layer_" + std::to_string(i));
    x = encoder_layer(g, x, layer);
  }
  x = g.layer_norm(x, "encoder.ln");
  x = p.text("pool") == "token" ? g.reshape(g.slice(x, 1, 0, 1), {0, hidden}) : g.mean(x, {1});
  g.cross_entropy(g.linear(x, "heads.head", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_vit(Catalog& catalog) {
  catalog.family(
      "vit", "vision transformers",
      {size_parameter("patch", 16, "pixels of a patch"), size_parameter("hidden", 768, "width"),
       integer_option("layers", 12, "encoder layers").bounds(1, 1000), size_parameter("heads", 12, "attention heads"),
       size_parameter("mlp", 3072, "width of the inner layer"),
       choice_option("pool", "token", {"token", "mean"}, "what the head sees: the class token, or the mean"),
       integer_option("registers", 0, "extra tokens").bounds(0, 1024),
       choice_option("positions", "all", {"all", "patches"}, "which tokens have a learned position"),
       choice_option("layer_scale", "no", {"no", "yes"}, "learned scale of every branch"),
       choice_option("pre_norm", "no", {"no", "yes"}, "normalise before the first layer"),
       attention_parameter("explicit"), number_option("dropout", 0, "dropout rate").bounds(0, 1), image_parameter(),
       channels_parameter(), classes_parameter()},
      build_vit);
  catalog.variant("vit_b_16", "vit");
  catalog.variant("vit_b_32", "vit", "patch=32");
  catalog.variant("vit_l_16", "vit", "hidden=1024,layers=24,heads=16,mlp=4096");
  catalog.variant("vit_l_32", "vit", "patch=32,hidden=1024,layers=24,heads=16,mlp=4096");
  catalog.variant("vit_h_14", "vit", "patch=14,hidden=1280,layers=32,heads=16,mlp=5120");
}

}  // namespace orrery::workload::zoo
