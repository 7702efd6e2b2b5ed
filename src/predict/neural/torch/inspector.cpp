#include "predict/neural/torch/inspector.h"

#include <algorithm>
#include <limits>

#include "predict/neural/inspector_form.h"

namespace orrery::predict {

namespace {

constexpr double kSlope = 0.01;          // of leaky ReLU
constexpr double kAttentionSlope = 0.2;  // in front of attention

// Both directions of every edge, and what the layers need of the graph.
struct Edges {
  explicit Edges(const BatchTensors& batch)
      : from(at::cat({batch.sources, batch.sinks})), to(at::cat({batch.sinks, batch.sources})) {
    const at::Tensor ones = at::ones({from.size(0)}, batch.rows.options());
    const at::Tensor degree = at::ones({batch.rows.size(0)}, batch.rows.options()).index_add(0, to, ones);
    const at::Tensor scale = degree.rsqrt();
    along = (scale.index_select(0, from) * scale.index_select(0, to)).unsqueeze(1);
    own = degree.reciprocal().unsqueeze(1);
  }
  // Σ over neighbours.
  at::Tensor gathered(const at::Tensor& messages, std::int64_t rows) const {
    return at::zeros({rows, messages.size(1)}, messages.options()).index_add(0, to, messages);
  }

  at::Tensor from, to;
  at::Tensor along, own;  // entries of Â
};

std::int64_t parameters_of(GraphLayer layer) {
  return layer == GraphLayer::kGcn ? 2 : layer == GraphLayer::kGat ? 4 : 5;
}

using Weights = std::vector<at::Tensor>;

at::Tensor gat(const Weights& w, const Edges& edges, const at::Tensor& x) {
  const std::int64_t rows = x.size(0);
  const at::Tensor moved = at::linear(x, w[0]).view({rows, kInspectorHeads, -1});
  const at::Tensor sink = (moved * w[2].view({1, kInspectorHeads, -1})).sum(2);
  const at::Tensor source = (moved * w[3].view({1, kInspectorHeads, -1})).sum(2);
  const at::Tensor nodes = at::arange(rows, edges.to.options());
  const at::Tensor from = at::cat({edges.from, nodes}), to = at::cat({edges.to, nodes});
  const at::Tensor score = at::leaky_relu(sink.index_select(0, to) + source.index_select(0, from), kAttentionSlope);
  const at::Tensor raised = at::exp(score - score.max().detach());
  const at::Tensor total = at::zeros({rows, kInspectorHeads}, x.options()).index_add(0, to, raised);
  const at::Tensor share = (raised / total.index_select(0, to)).unsqueeze(2);
  return at::zeros_like(moved).index_add(0, to, moved.index_select(0, from) * share).reshape({rows, -1}) + w[1];
}

at::Tensor mpnn(const Weights& w, const Edges& edges, const at::Tensor& x) {
  const std::int64_t rows = x.size(0);
  const at::Tensor messages =
      at::linear(x, w[2]).index_select(0, edges.to) + at::linear(x, w[3]).index_select(0, edges.from);
  const at::Tensor towers = edges.gathered(messages, rows).view({rows, kInspectorHeads, -1}).transpose(0, 1);
  return at::linear(x, w[0], w[1]) + at::bmm(towers, w[4]).transpose(0, 1).reshape({rows, -1});
}

at::Tensor graph_layer(GraphLayer layer, const Weights& w, const Edges& edges, const at::Tensor& x) {
  at::Tensor y;
  switch (layer) {
    case GraphLayer::kGcn: {
      const at::Tensor moved = at::linear(x, w[0]);
      y = (moved * edges.own).index_add(0, edges.to, moved.index_select(0, edges.from) * edges.along) + w[1];
      break;
    }
    case GraphLayer::kGin: {
      const at::Tensor sum = (1 + w[4]) * x + edges.gathered(x.index_select(0, edges.from), x.size(0));
      y = at::linear(at::relu(at::linear(sum, w[0], w[1])), w[2], w[3]);
      break;
    }
    case GraphLayer::kGat:
      y = gat(w, edges, x);
      break;
    case GraphLayer::kMpnn:
      y = mpnn(w, edges, x);
      break;
  }
  return at::leaky_relu(y, kSlope);
}

at::Tensor sums_by_graph(const at::Tensor& x, const BatchTensors& batch) {
  return at::zeros({batch.graph_count, x.size(1)}, x.options()).index_add(0, batch.graphs, x);
}

// Of each graph; what is taken off before an exponential does not matter, so no gradient is needed.
at::Tensor largest_by_graph(const at::Tensor& values, const BatchTensors& batch) {
  at::Tensor largest = at::full({batch.graph_count}, -std::numeric_limits<float>::infinity(), values.options());
  const float* value = values.data_ptr<float>();
  const std::int64_t* graph = batch.graphs.data_ptr<std::int64_t>();
  float* most = largest.data_ptr<float>();
  for (std::int64_t i = 0; i < values.size(0); ++i) most[graph[i]] = std::max(most[graph[i]], value[i]);
  return largest;
}

at::Tensor set2set(const NetworkOptions& options, const Weights& w, const at::Tensor& x, const BatchTensors& batch) {
  at::Tensor q = at::zeros({batch.graph_count, options.hidden}, x.options()), cell = at::zeros_like(q);
  at::Tensor both = at::cat({q, q}, 1);
  for (std::int32_t step = 0; step < options.length; ++step) {
    std::tie(q, cell) = at::lstm_cell(both, {q, cell}, w[0], w[1], w[2], w[3]);
    const at::Tensor score = (x * q.index_select(0, batch.graphs)).sum(1);
    const at::Tensor most = largest_by_graph(score.detach().contiguous(), batch);
    const at::Tensor raised = at::exp(score - most.index_select(0, batch.graphs)).unsqueeze(1);
    both = at::cat({q, sums_by_graph(raised * x, batch) / sums_by_graph(raised, batch)}, 1);
  }
  return both;
}

at::Tensor read_out(const NetworkOptions& options, Cursor& cursor, const at::Tensor& x, const BatchTensors& batch) {
  if (options.readout == Readout::kSet2Set) return set2set(options, cursor.next(4), x, batch);
  const at::Tensor sums = sums_by_graph(x, batch);
  if (options.readout == Readout::kSum) return sums;
  return sums / sums_by_graph(at::ones({x.size(0), 1}, x.options()), batch);
}

// `yes` where the condition holds for a node, `no` elsewhere; the tensor itself if it holds for all or none.
template <class Yes, class No>
at::Tensor chosen(const at::Tensor& holds, Yes yes, No no) {
  if (!holds.defined() || holds.all().item<bool>()) return yes();
  if (!holds.any().item<bool>()) return no();
  return at::where(holds.unsqueeze(1), yes(), no());
}

}  // namespace

at::Tensor inspector(const NetworkOptions& options, Cursor& cursor, const BatchTensors& batch) {
  const std::int64_t per_layer = parameters_of(options.graph_layer);
  const Weights first = cursor.next(per_layer), further = cursor.next(per_layer);
  const bool has_copy = options.transfer == Transfer::kHalf;
  const Weights copy = has_copy ? cursor.next(per_layer) : further;
  const Weights gru = cursor.next(4);
  const Edges edges(batch);
  const at::Tensor depth = batch.depths.defined() ? batch.depths.index_select(0, batch.graphs) : at::Tensor();
  const std::int64_t layers = depth.defined() ? depth.max().item<std::int64_t>() : options.layers;
  const auto step = [&](const Weights& weights, const at::Tensor& x, const at::Tensor& padded) {
    return at::gru_cell(padded, graph_layer(options.graph_layer, weights, edges, x), gru[0], gru[1], gru[2], gru[3]);
  };
  at::Tensor x = at::constant_pad_nd(batch.rows, {0, options.hidden - options.inputs});
  if (layers > 0)
    x = chosen(
        depth.defined() ? depth > 0 : depth, [&] { return step(first, batch.rows, x); }, [&] { return x; });
  for (std::int64_t layer = 1; layer < layers; ++layer) {
    // Of K − 1 further applications the first ⌊(K − 1) / 2⌋ keep the weights they had.
    const auto next = [&] {
      if (!has_copy) return step(further, x, x);
      if (!depth.defined()) return step(layer - 1 < (layers - 1) / 2 ? further : copy, x, x);
      const at::Tensor keeps = at::floor_divide(depth - 1, 2) > layer - 1;
      return chosen(
          keeps, [&] { return step(further, x, x); }, [&] { return step(copy, x, x); });
    };
    x = chosen(depth.defined() ? depth > layer : depth, next, [&] { return x; });
  }
  at::Tensor value = read_out(options, cursor, x, batch);
  value = at::relu(cursor.linear(value));
  value = at::relu(cursor.linear(value));
  return at::leaky_relu(cursor.linear(value), kSlope);
}

}  // namespace orrery::predict
