#include "predict/neural/torch/inspector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "predict/neural/inspector_form.h"
#include "predict/neural/torch/gru_cell.h"
#include "predict/neural/torch/row_sums.h"

namespace orrery::predict {

namespace {

constexpr double kSlope = 0.01;          // of leaky ReLU
constexpr double kAttentionSlope = 0.2;  // in front of attention

// The nodes of a batch and how they are joined. Those of graphs with more layers come first, so that the rows that a
// layer still changes are leading ones.
class Nodes {
 public:
  Nodes(const BatchTensors& batch, const NetworkOptions& options) {
    const std::int64_t count = batch.rows.size(0);
    const std::int64_t* graph = batch.graphs.data_ptr<std::int64_t>();
    const auto depth_of = [&](std::int64_t row) {
      return batch.depths.defined() ? batch.depths.data_ptr<std::int64_t>()[graph[row]] : options.layers;
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(count)), place(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return depth_of(a) > depth_of(b); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
      depths_.push_back(depth_of(order[i]));
    }
    rows = rows_at(batch.rows, as_tensor(order));
    graphs = batch.graphs.index_select(0, as_tensor(order));
    join(batch, place, options.graph_layer);
  }

  std::int64_t layers() const { return depths_.front(); }
  // Nodes of graphs with more layers than this.
  std::int64_t deeper_than(std::int64_t layers) const {
    return std::partition_point(depths_.begin(), depths_.end(), [&](std::int64_t depth) { return depth > layers; }) -
           depths_.begin();
  }
  // Entries of the matrix in the leading rows.
  std::int64_t entries(std::int64_t leading) const { return matrix.first.data_ptr<std::int64_t>()[leading]; }

  at::Tensor rows, graphs;  // features and graph of each node
  SparseRows matrix;        // Â of a graph convolution, else A; in either case with an entry for the node itself
  at::Tensor sinks;         // row of each entry
  at::Tensor degrees;       // neighbours of each node, a column

 private:
  static at::Tensor as_tensor(const std::vector<std::int64_t>& values) {
    const at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
    std::copy(values.begin(), values.end(), tensor.data_ptr<std::int64_t>());
    return tensor;
  }

  void join(const BatchTensors& batch, const std::vector<std::int64_t>& place, GraphLayer layer) {
    std::vector<std::vector<std::int64_t>> neighbours(place.size());
    const auto node = [&](const at::Tensor& ends, std::int64_t edge) {
      return static_cast<std::size_t>(place[static_cast<std::size_t>(ends.data_ptr<std::int64_t>()[edge])]);
    };
    for (std::int64_t edge = 0; edge < batch.sources.size(0); ++edge) {
      const std::size_t a = node(batch.sources, edge), b = node(batch.sinks, edge);
      neighbours[a].push_back(static_cast<std::int64_t>(b));
      neighbours[b].push_back(static_cast<std::int64_t>(a));
    }
    std::vector<std::int64_t> first = {0}, columns, rows_of;
    std::vector<float> weights, counts;
    const auto scale = [&](std::size_t i) { return 1 / std::sqrt(1 + static_cast<float>(neighbours[i].size())); };
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const auto add = [&](std::size_t j) {
        columns.push_back(static_cast<std::int64_t>(j));
        rows_of.push_back(static_cast<std::int64_t>(i));
        weights.push_back(layer == GraphLayer::kGcn ? scale(i) * scale(j) : i == j ? 0.0F : 1.0F);
      };
      add(i);
      for (const std::int64_t j : neighbours[i]) add(static_cast<std::size_t>(j));
      first.push_back(static_cast<std::int64_t>(columns.size()));
      counts.push_back(static_cast<float>(neighbours[i].size()));
    }
    matrix = {as_tensor(first), as_tensor(columns), at::empty({static_cast<std::int64_t>(weights.size())}, at::kFloat)};
    std::copy(weights.begin(), weights.end(), matrix.weights.data_ptr<float>());
    sinks = as_tensor(rows_of);
    degrees = at::empty({static_cast<std::int64_t>(counts.size()), 1}, at::kFloat);
    std::copy(counts.begin(), counts.end(), degrees.data_ptr<float>());
  }

  std::vector<std::int64_t> depths_;  // of each node, falling
};

std::int64_t parameters_of(GraphLayer layer) {
  return layer == GraphLayer::kGcn ? 2 : layer == GraphLayer::kGat ? 4 : 5;
}

using Weights = std::vector<at::Tensor>;

// x is of the leading nodes.
at::Tensor gat(const Weights& w, const Nodes& nodes, const at::Tensor& x) {
  const std::int64_t rows = x.size(0), entries = nodes.entries(rows);
  const at::Tensor from = nodes.matrix.columns.narrow(0, 0, entries), to = nodes.sinks.narrow(0, 0, entries);
  const at::Tensor flat = at::linear(x, w[0]), moved = flat.view({rows, kInspectorHeads, -1});
  const at::Tensor sink = (moved * w[2].view({1, kInspectorHeads, -1})).sum(2);
  const at::Tensor source = (moved * w[3].view({1, kInspectorHeads, -1})).sum(2);
  const at::Tensor score = at::leaky_relu(rows_at(sink, to) + rows_at(source, from), kAttentionSlope);
  const at::Tensor raised = at::exp(score - score.max().detach());
  const at::Tensor share = (raised / rows_at(rows_summed(raised, to, rows), to)).unsqueeze(2);
  const at::Tensor messages = rows_at(flat, from).view({entries, kInspectorHeads, -1}) * share;
  return rows_summed(messages.view({entries, -1}), to, rows) + w[1];
}

// Σ over neighbours of P x_sink + Q x_source is the number of neighbours times P x, and Q times their sum.
at::Tensor mpnn(const Weights& w, const Nodes& nodes, const at::Tensor& x) {
  const std::int64_t rows = x.size(0);
  const at::Tensor gathered =
      at::linear(x, w[2]) * nodes.degrees.narrow(0, 0, rows) + product(nodes.matrix, at::linear(x, w[3]));
  const at::Tensor towers = gathered.view({rows, kInspectorHeads, -1}).transpose(0, 1);
  return at::linear(x, w[0], w[1]) + at::bmm(towers, w[4]).transpose(0, 1).reshape({rows, -1});
}

at::Tensor graph_layer(GraphLayer layer, const Weights& w, const Nodes& nodes, const at::Tensor& x) {
  at::Tensor y;
  switch (layer) {
    case GraphLayer::kGcn:
      y = product(nodes.matrix, at::linear(x, w[0])) + w[1];
      break;
    case GraphLayer::kGin: {
      const at::Tensor sum = (1 + w[4]) * x + product(nodes.matrix, x);
      y = at::linear(at::relu(at::linear(sum, w[0], w[1])), w[2], w[3]);
      break;
    }
    case GraphLayer::kGat:
      y = gat(w, nodes, x);
      break;
    case GraphLayer::kMpnn:
      y = mpnn(w, nodes, x);
      break;
  }
  return at::leaky_relu(y, kSlope);
}

// The nodes of each graph put together.
struct Graphs {
  at::Tensor of_node;
  std::int64_t count;

  at::Tensor sums(const at::Tensor& x) const { return rows_summed(x, of_node, count); }
};

// Of each graph; what is taken off before an exponential does not matter, so no gradient is needed.
at::Tensor largest_by_graph(const at::Tensor& values, const Graphs& graphs) {
  at::Tensor largest = at::full({graphs.count}, -std::numeric_limits<float>::infinity(), values.options());
  const float* value = values.data_ptr<float>();
  const std::int64_t* graph = graphs.of_node.data_ptr<std::int64_t>();
  float* most = largest.data_ptr<float>();
  for (std::int64_t i = 0; i < values.size(0); ++i) most[graph[i]] = std::max(most[graph[i]], value[i]);
  return largest;
}

at::Tensor set2set(const NetworkOptions& options, const Weights& w, const at::Tensor& x, const Graphs& graphs) {
  at::Tensor q = at::zeros({graphs.count, options.hidden}, x.options()), cell = at::zeros_like(q);
  at::Tensor both = at::cat({q, q}, 1);
  for (std::int32_t step = 0; step < options.length; ++step) {
    std::tie(q, cell) = at::lstm_cell(both, {q, cell}, w[0], w[1], w[2], w[3]);
    const at::Tensor score = (x * rows_at(q, graphs.of_node)).sum(1);
    const at::Tensor most = largest_by_graph(score.detach().contiguous(), graphs);
    const at::Tensor raised = at::exp(score - most.index_select(0, graphs.of_node)).unsqueeze(1);
    both = at::cat({q, graphs.sums(raised * x) / graphs.sums(raised)}, 1);
  }
  return both;
}

at::Tensor read_out(const NetworkOptions& options, Cursor& cursor, const at::Tensor& x, const Graphs& graphs) {
  if (options.readout == Readout::kSet2Set) return set2set(options, cursor.next(4), x, graphs);
  const at::Tensor sums = graphs.sums(x);
  if (options.readout == Readout::kSum) return sums;
  return sums / graphs.sums(at::ones({x.size(0), 1}, x.options()));
}

}  // namespace

at::Tensor inspector(const NetworkOptions& options, Cursor& cursor, const BatchTensors& batch) {
  const std::int64_t per_layer = parameters_of(options.graph_layer);
  const Weights first = cursor.next(per_layer), further = cursor.next(per_layer);
  const Weights copy = options.transfer == Transfer::kHalf ? cursor.next(per_layer) : further;
  const Weights gru = cursor.next(4);
  const Nodes nodes(batch, options);
  const auto step = [&](const Weights& weights, const at::Tensor& x, const at::Tensor& padded) {
    return gru_cell(padded, graph_layer(options.graph_layer, weights, nodes, x), gru[0], gru[1], gru[2], gru[3]);
  };
  // Of K − 1 further applications the first ⌊(K − 1) / 2⌋ keep the weights they had.
  const auto further_step = [&](std::int64_t layer, const at::Tensor& x) {
    const std::int64_t keep = options.transfer == Transfer::kHalf ? nodes.deeper_than(2 * layer) : x.size(0);
    if (keep == x.size(0)) return step(further, x, x);
    const at::Tensor moved = step(copy, x, x);
    if (keep == 0) return moved;
    const at::Tensor kept = x.narrow(0, 0, keep);
    return at::cat({step(further, kept, kept), moved.narrow(0, keep, x.size(0) - keep)});
  };
  at::Tensor x = at::constant_pad_nd(nodes.rows, {0, options.hidden - options.inputs});
  std::vector<at::Tensor> done;  // nodes of graphs without further layers, the last ones first
  for (std::int64_t layer = 0; layer < nodes.layers(); ++layer) {
    const std::int64_t going_on = nodes.deeper_than(layer), all = x.size(0);
    if (going_on < all) done.push_back(x.narrow(0, going_on, all - going_on));
    if (going_on < all) x = x.narrow(0, 0, going_on);
    x = layer == 0 ? step(first, nodes.rows.narrow(0, 0, going_on), x) : further_step(layer, x);
  }
  done.push_back(x);
  std::reverse(done.begin(), done.end());
  at::Tensor value = read_out(options, cursor, at::cat(done), {nodes.graphs, batch.graph_count});
  value = at::relu(cursor.linear(value));
  value = at::relu(cursor.linear(value));
  return at::leaky_relu(cursor.linear(value), kSlope);
}

}  // namespace orrery::predict
