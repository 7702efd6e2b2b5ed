// Transformers for text: BERT (Devlin et al. 2018), GPT-2 (Radford et al. 2019), Llama (Touvron et al. 2023) and the
// encoder–decoder of Vaswani et al. 2017.

#include <fmt/format.h>

#include "workload/zoo/attention.h"

namespace orrery::workload::zoo {

namespace {

OptionRecord vocabulary_parameter(std::int64_t size) {
  return size_parameter("vocab", size, "tokens in the vocabulary");
}

OptionRecord sequence_parameter(std::int64_t length) {
  return size_parameter("seq", length, "tokens of a sample");
}

OptionRecord rate_parameter(double rate) {
  return number_option("dropout", rate, "dropout rate").bounds(0, 1);
}

OptionRecord layers_parameter(std::int64_t count) {
  return integer_option("layers", count, "layers").bounds(1, 1000);
}

Value token_input(GraphBuilder& g, const std::string& name, std::int64_t length) {
  auto shape = Shape::make(std::array<std::int64_t, 2>{1, length});
  if (!shape) {
    g.fail(std::move(shape).error());
    return {};
  }
  return g.input(name, *shape, DataType::kInt64);
}

// The first `length` rows of a learned table of positions.
Value positions(GraphBuilder& g, const std::string& name, std::int64_t table, std::int64_t length,
                std::int64_t hidden) {
  if (length > table) g.fail(Error::invalid(fmt::format("seq {} is longer than the {} positions", length, table)));
  const Value all = g.parameter(name, {1, table, hidden});
  return length == table ? all : g.slice(all, 1, 0, length);
}

// --- BERT ---

Value bert_layer(GraphBuilder& g, Value x, const OptionValues& p) {
  const std::int64_t hidden = p.integer("hidden");
  const double rate = p.number("dropout");
  const AttentionSpec spec{.heads = p.integer("heads"), .fused = is_fused(p), .dropout = rate};
  const Value q = split_heads(g, g.linear(x, "attention.self.query", hidden), spec.heads);
  const Value k = split_heads(g, g.linear(x, "attention.self.key", hidden), spec.heads);
  const Value v = split_heads(g, g.linear(x, "attention.self.value", hidden), spec.heads);
  Value y = merge_heads(g, attend(g, q, k, v, spec));
  y = g.dropout(g.linear(y, "attention.output.dense", hidden), rate);
  x = g.layer_norm(g.sum_of(y, x), "attention.output.LayerNorm");
  y = g.activate(OperatorKind::kGelu, g.linear(x, "intermediate.dense", p.integer("mlp")));
  y = g.dropout(g.linear(y, "output.dense", hidden), rate);
  return g.layer_norm(g.sum_of(y, x), "output.LayerNorm");
}

Result<TrainingGraph> build_bert(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const std::int64_t hidden = p.integer("hidden"), length = p.integer("seq");
  const Value tokens = token_input(g, "input_ids", length);
  const Value types = token_input(g, "token_type_ids", length);
  const Value words = g.embedding(tokens, "embeddings.word_embeddings", p.integer("vocab"), hidden);
  Value x = g.sum_of(words, g.embedding(types, "embeddings.token_type_embeddings", 2, hidden));
  x = g.sum_of(x, positions(g, "embeddings.position_embeddings", p.integer("positions"), length, hidden));
  x = g.dropout(g.layer_norm(x, "embeddings.LayerNorm"), p.number("dropout"));
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    const auto scope = g.scope(fmt::format("encoder.layer.{}", i));
    x = bert_layer(g, x, p);
  }
  if (p.text("head") == "classes") {
    x = g.reshape(g.slice(x, 1, 0, 1), {0, hidden});
    x = g.activate(OperatorKind::kTanh, g.linear(x, "pooler.dense", hidden));
    g.cross_entropy(g.linear(g.dropout(x, p.number("dropout")), "classifier", p.integer("classes")));
    return g.finish();
  }
  x = g.activate(OperatorKind::kGelu, g.linear(x, "cls.predictions.transform.dense", hidden));
  x = g.layer_norm(x, "cls.predictions.transform.LayerNorm");
  g.cross_entropy(g.tied_linear(x, "cls.predictions.decoder", words, true));
  return g.finish();
}

// --- GPT-2 ---

Value gpt2_layer(GraphBuilder& g, Value x, const OptionValues& p) {
  const std::int64_t hidden = p.integer("hidden");
  const double rate = p.number("dropout");
  const AttentionSpec spec{.heads = p.integer("heads"), .fused = is_fused(p), .causal = true, .dropout = rate};
  Value y = packed_attention(g, g.layer_norm(x, "ln_1"), {"attn.c_attn", "attn.c_proj"}, spec);
  x = g.sum_of(g.dropout(y, rate), x);
  y = g.activate(OperatorKind::kGelu, g.linear(g.layer_norm(x, "ln_2"), "mlp.c_fc", 4 * hidden));
  return g.sum_of(x, g.dropout(g.linear(y, "mlp.c_proj", hidden), rate));
}

Result<TrainingGraph> build_gpt2(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const std::int64_t hidden = p.integer("hidden"), length = p.integer("seq");
  const Value tokens = token_input(g, "input_ids", length);
  const Value words = g.embedding(tokens, "wte", p.integer("vocab"), hidden);
  Value x = g.sum_of(words, positions(g, "wpe", std::max(length, p.integer("positions")), length, hidden));
  x = g.dropout(x, p.number("dropout"));
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    const auto scope = g.scope(fmt::format("h.{}", i));
    x = gpt2_layer(g, x, p);
  }
  g.cross_entropy(g.tied_linear(g.layer_norm(x, "ln_f"), "lm_head", words));
  return g.finish();
}

// --- Llama ---

// Rotary position embedding: x·cos + rotate(x)·sin; the angles are constants.
Value rotate(GraphBuilder& g, Value x) {
  const std::int64_t size = g.dim(x, 3);
  const Value first = g.slice(x, 3, 0, size / 2), second = g.slice(x, 3, size / 2, size);
  const Value turned = g.concat({g.scaled(second), first}, 3);
  return g.sum_of(g.scaled(x), g.scaled(turned));
}

Value llama_layer(GraphBuilder& g, Value x, const OptionValues& p) {
  const std::int64_t hidden = p.integer("hidden"), heads = p.integer("heads"), key_heads = p.integer("key_heads");
  const std::int64_t key_width = hidden / heads * key_heads;
  const AttentionSpec spec{.heads = heads, .fused = is_fused(p), .causal = true};
  Value y = g.rms_norm(x, "input_layernorm");
  const Value q = rotate(g, split_heads(g, g.linear(y, "self_attn.q_proj", hidden, false), heads));
  const Value k = rotate(g, split_heads(g, g.linear(y, "self_attn.k_proj", key_width, false), key_heads));
  const Value v = split_heads(g, g.linear(y, "self_attn.v_proj", key_width, false), key_heads);
  y = merge_heads(g, attend(g, q, k, v, spec));
  x = g.sum_of(x, g.linear(y, "self_attn.o_proj", hidden, false));
  y = g.rms_norm(x, "post_attention_layernorm");
  const Value gate = g.activate(OperatorKind::kSilu, g.linear(y, "mlp.gate_proj", p.integer("mlp"), false));
  y = g.product(gate, g.linear(y, "mlp.up_proj", p.integer("mlp"), false));
  return g.sum_of(x, g.linear(y, "mlp.down_proj", hidden, false));
}

Result<TrainingGraph> build_llama(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  Value x = g.embedding(token_input(g, "input_ids", p.integer("seq")), "embed_tokens", p.integer("vocab"),
                        p.integer("hidden"));
  if (p.integer("heads") % p.integer("key_heads") != 0) {
    g.fail(Error::invalid(
        fmt::format("{} heads do not divide into {} key heads", p.integer("heads"), p.integer("key_heads"))));
  }
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    const auto scope = g.scope(fmt::format("layers.{}", i));
    x = llama_layer(g, x, p);
  }
  g.cross_entropy(g.linear(g.rms_norm(x, "norm"), "lm_head", p.integer("vocab"), false));
  return g.finish();
}

// --- encoder–decoder ---

struct Translator {
  AttentionSpec attention;
  std::int64_t mlp;
  double dropout;
};

Value cross_attention(GraphBuilder& g, Value x, Value memory, const AttentionSpec& spec) {
  const std::int64_t hidden = g.dim(x, 2);
  const Value q = split_heads(g, g.linear(x, "multihead_attn.in_proj_q", hidden), spec.heads);
  const auto keys = g.chunk(g.linear(memory, "multihead_attn.in_proj_kv", 2 * hidden), 2, 2);
  const Value k = split_heads(g, keys[0], spec.heads), v = split_heads(g, keys[1], spec.heads);
  return g.linear(merge_heads(g, attend(g, q, k, v, spec)), "multihead_attn.out_proj", hidden);
}

Value post_norm(GraphBuilder& g, Value x, Value branch, const std::string& name, const Translator& t) {
  return g.layer_norm(g.sum_of(x, g.dropout(branch, t.dropout)), name);
}

Value feed_forward(GraphBuilder& g, Value x, const Translator& t) {
  const Value inner = g.dropout(g.relu(g.linear(x, "linear1", t.mlp), false), t.dropout);
  return g.linear(inner, "linear2", g.dim(x, 2));
}

Value translator_layer(GraphBuilder& g, Value x, const Translator& t, Value memory) {
  AttentionSpec own = t.attention;
  own.causal = memory.op.valid();
  x = post_norm(g, x, packed_attention(g, x, {"self_attn.in_proj", "self_attn.out_proj"}, own), "norm1", t);
  if (!memory.op.valid()) return post_norm(g, x, feed_forward(g, x, t), "norm2", t);
  x = post_norm(g, x, cross_attention(g, x, memory, t.attention), "norm2", t);
  return post_norm(g, x, feed_forward(g, x, t), "norm3", t);
}

Result<TrainingGraph> build_transformer(const std::string& name, const OptionValues& p) {
  GraphBuilder g(name);
  const std::int64_t hidden = p.integer("hidden"), vocab = p.integer("vocab");
  const Translator t{{.heads = p.integer("heads"), .fused = is_fused(p), .dropout = p.number("dropout")},
                     p.integer("mlp"),
                     p.number("dropout")};
  const Value source = token_input(g, "source", p.integer("seq"));
  const Value target = token_input(g, "target", p.integer("seq"));
  // Embeddings are scaled and get constant positions added: one pass over them each.
  Value x = g.dropout(g.scaled(g.scaled(g.embedding(source, "source_embedding", vocab, hidden))), t.dropout);
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    const auto scope = g.scope(fmt::format("encoder.layers.{}", i));
    x = translator_layer(g, x, t, {});
  }
  const Value memory = g.layer_norm(x, "encoder.norm");
  const Value words = g.embedding(target, "target_embedding", vocab, hidden);
  Value y = g.dropout(g.scaled(g.scaled(words)), t.dropout);
  for (std::int64_t i = 0; i < p.integer("layers"); ++i) {
    const auto scope = g.scope(fmt::format("decoder.layers.{}", i));
    y = translator_layer(g, y, t, memory);
  }
  g.cross_entropy(g.tied_linear(g.layer_norm(y, "decoder.norm"), "generator", words));
  return g.finish();
}

}  // namespace

void register_language(Catalog& catalog) {
  catalog.family(
      "bert", "bidirectional encoders of text",
      {size_parameter("hidden", 768, "width"), layers_parameter(12), size_parameter("heads", 12, "attention heads"),
       size_parameter("mlp", 3072, "width of the inner layer"), vocabulary_parameter(30522),
       size_parameter("positions", 512, "longest sample"), sequence_parameter(128),
       choice_option("head", "words", {"words", "classes"}, "predict masked words, or a class"), classes_parameter(2),
       rate_parameter(0.1), attention_parameter("explicit")},
      build_bert);
  catalog.variant("bert_tiny", "bert", "hidden=128,layers=2,heads=2,mlp=512");
  catalog.variant("bert_mini", "bert", "hidden=256,layers=4,heads=4,mlp=1024");
  catalog.variant("bert_base", "bert");
  catalog.variant("bert_large", "bert", "hidden=1024,layers=24,heads=16,mlp=4096");

  catalog.family(
      "gpt2", "decoders of text in the manner of GPT-2",
      {size_parameter("hidden", 768, "width"), layers_parameter(12), size_parameter("heads", 12, "attention heads"),
       vocabulary_parameter(50257), size_parameter("positions", 1024, "rows of the position table, at least seq"),
       sequence_parameter(1024), rate_parameter(0.1), attention_parameter("fused")},
      build_gpt2);
  catalog.variant("gpt2", "gpt2");
  catalog.variant("gpt2_medium", "gpt2", "hidden=1024,layers=24,heads=16");
  catalog.variant("gpt2_large", "gpt2", "hidden=1280,layers=36,heads=20");
  catalog.variant("gpt2_xl", "gpt2", "hidden=1600,layers=48,heads=25");
  catalog.variant("gpt3_2.7b", "gpt2", "hidden=2560,layers=32,heads=32,positions=2048,seq=2048,dropout=0");
  catalog.variant("gpt3_175b", "gpt2", "hidden=12288,layers=96,heads=96,positions=2048,seq=2048,dropout=0");

  catalog.family(
      "llama", "decoders of text in the manner of Llama",
      {size_parameter("hidden", 4096, "width"), layers_parameter(32), size_parameter("heads", 32, "attention heads"),
       size_parameter("key_heads", 32, "heads of keys and values"),
       size_parameter("mlp", 11008, "width of the inner layer"), vocabulary_parameter(32000), sequence_parameter(2048),
       attention_parameter("fused")},
      build_llama);
  catalog.variant("tinyllama_1.1b", "llama", "hidden=2048,layers=22,heads=32,key_heads=4,mlp=5632");
  catalog.variant("llama_7b", "llama");
  catalog.variant("llama_13b", "llama", "hidden=5120,layers=40,heads=40,key_heads=40,mlp=13824");
  catalog.variant("llama2_70b", "llama", "hidden=8192,layers=80,heads=64,key_heads=8,mlp=28672,seq=4096");
  catalog.variant("llama3_8b", "llama", "key_heads=8,mlp=14336,vocab=128256,seq=8192");

  catalog.family(
      "transformer", "encoder–decoder for translation",
      {size_parameter("hidden", 512, "width"), layers_parameter(6), size_parameter("heads", 8, "attention heads"),
       size_parameter("mlp", 2048, "width of the inner layer"), vocabulary_parameter(37000), sequence_parameter(64),
       rate_parameter(0.1), attention_parameter("explicit")},
      build_transformer);
  catalog.variant("transformer", "transformer");
  catalog.variant("transformer_big", "transformer", "hidden=1024,heads=16,mlp=4096,dropout=0.3");
}

}  // namespace orrery::workload::zoo
