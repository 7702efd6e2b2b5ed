#include "workload/zoo/attention.h"

#include <fmt/format.h>

namespace orrery::workload::zoo {

Value split_heads(GraphBuilder& g, Value x, std::int64_t heads) {
  const std::int64_t hidden = g.dim(x, 2);
  if (!g.failed() && hidden % heads != 0) {
    g.fail(Error::invalid(fmt::format("hidden size {} is not divisible by {} heads", hidden, heads)));
  }
  return g.transpose(g.reshape(x, {-1, g.dim(x, 1), heads, hidden / heads}), {0, 2, 1, 3});
}

Value merge_heads(GraphBuilder& g, Value x) {
  const std::int64_t tokens = g.dim(x, 2), hidden = g.dim(x, 1) * g.dim(x, 3);
  return g.reshape(g.contiguous(g.transpose(x, {0, 2, 1, 3})), {-1, tokens, hidden});
}

Value attend(GraphBuilder& g, Value q, Value k, Value v, const AttentionSpec& spec, Value bias) {
  if (spec.fused) return g.attention(q, k, v, spec.causal);
  if (g.dim(k, 1) != g.dim(q, 1)) {
    // Every group of query heads shares one key and value head; the explicit form copies them.
    const std::int64_t heads = g.dim(q, 1), tokens = g.dim(k, 2), size = g.dim(k, 3);
    k = g.index(k, {0, heads, tokens, size});
    v = g.index(v, {0, heads, tokens, size});
  }
  Value scores = g.matmul(g.scaled(q), g.transpose(k, {0, 1, 3, 2}));
  if (bias.op.valid()) scores = g.sum_of(scores, bias);
  if (spec.causal) scores = g.scaled(scores);  // adds the mask
  return g.matmul(g.dropout(g.softmax(scores), spec.dropout), v);
}

Value packed_attention(GraphBuilder& g, Value x, const ProjectionNames& names, const AttentionSpec& spec) {
  const std::int64_t hidden = g.dim(x, 2);
  const auto parts = g.chunk(g.linear(x, names.packed, 3 * hidden), 3, 2);
  const Value q = split_heads(g, parts[0], spec.heads);
  const Value k = split_heads(g, parts[1], spec.heads);
  const Value v = split_heads(g, parts[2], spec.heads);
  return g.linear(merge_heads(g, attend(g, q, k, v, spec)), names.out, hidden);
}

OptionRecord attention_parameter(std::string default_value) {
  return choice_option("attention", std::move(default_value), {"explicit", "fused"},
                       "store the attention scores, or use one fused kernel");
}

bool is_fused(const OptionValues& p) {
  return p.text("attention") == "fused";
}

}  // namespace orrery::workload::zoo
