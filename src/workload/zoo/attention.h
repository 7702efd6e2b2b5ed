#pragma once
// Attention blocks that the transformer families share.

#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

struct AttentionSpec {
  std::int64_t heads = 8;
  bool fused = false;  // one kernel that never stores the scores
  bool causal = false;
  double dropout = 0;  // of the scores
};

// [batch, tokens, hidden] → [batch, heads, tokens, hidden / heads].
Value split_heads(GraphBuilder& g, Value x, std::int64_t heads);
// The reverse, with the copy that makes it contiguous.
Value merge_heads(GraphBuilder& g, Value x);

// softmax(q·kᵀ/√d)·v of split heads. `bias` (or none) is added to the scores.
Value attend(GraphBuilder& g, Value q, Value k, Value v, const AttentionSpec& spec, Value bias = {});

// Self-attention with one packed projection "<packed>" and an output projection "<out>".
struct ProjectionNames {
  std::string packed;
  std::string out;
};
Value packed_attention(GraphBuilder& g, Value x, const ProjectionNames& names, const AttentionSpec& spec);

// How attention is computed: "explicit" stores the scores, "fused" does not.
OptionRecord attention_parameter(std::string default_value);
bool is_fused(const OptionValues& p);

}  // namespace orrery::workload::zoo
