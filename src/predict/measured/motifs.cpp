#include "predict/measured/motifs.h"

#include <algorithm>

#include "base/random.h"

namespace orrery::predict {

namespace {

constexpr int kDepth = 3;

std::uint64_t combined(std::uint64_t hash, std::int64_t value) {
  return mix64(hash ^ (static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15ULL));
}

std::uint64_t combined(std::uint64_t hash, const workload::Window2d& window) {
  for (const std::int64_t value : {window.kernel_h, window.kernel_w, window.stride_h, window.stride_w}) {
    hash = combined(hash, value);
  }
  return hash;
}

// Without what is before it.
std::uint64_t kind_of(const workload::Operator& op) {
  const std::uint64_t hash = combined(1, static_cast<std::int64_t>(op.kind));
  if (const auto* conv = std::get_if<workload::ConvAttributes>(&op.attributes)) {
    return combined(combined(combined(hash, conv->window), conv->groups > 1 ? 1 : 0), conv->bias ? 1 : 0);
  }
  if (const auto* pool = std::get_if<workload::PoolAttributes>(&op.attributes)) return combined(hash, pool->window);
  if (const auto* linear = std::get_if<workload::LinearAttributes>(&op.attributes)) {
    return combined(hash, linear->bias ? 1 : 0);
  }
  if (const auto* recurrence = std::get_if<workload::RecurrentAttributes>(&op.attributes)) {
    return combined(hash, recurrence->bidirectional ? 1 : 0);
  }
  return hash;
}

}  // namespace

workload::ByOperator<std::uint64_t> motifs_of(const workload::TrainingGraph& graph) {
  workload::ByOperator<std::uint64_t> kinds;
  for (const workload::Operator& op : graph.operators()) kinds.push_back(kind_of(op));
  auto motifs = kinds;
  std::vector<std::uint64_t> before;
  for (int depth = 0; depth < kDepth; ++depth) {
    auto deeper = kinds;
    for (const workload::OperatorIndex at : kinds.indices()) {
      before.clear();
      for (const workload::Value& input : graph[at].inputs) before.push_back(motifs[input.op]);
      std::sort(before.begin(), before.end());
      for (const std::uint64_t one : before) deeper[at] = mix64(deeper[at] ^ one);
    }
    motifs = std::move(deeper);
  }
  return motifs;
}

}  // namespace orrery::predict
