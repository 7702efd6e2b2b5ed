#include "predict/neural/torch/structures.h"

#include <ATen/CPUGeneratorImpl.h>
#include <algorithm>
#include <cmath>

#include "predict/neural/inspector_form.h"
#include "predict/neural/torch/cursor.h"
#include "predict/neural/torch/inspector.h"

namespace orrery::predict {

namespace {

constexpr std::int64_t kWidening = 2;        // of a transformer's inner net
constexpr double kSumScale = 0.01;           // sums of hundreds of nodes, in the range of their mean
constexpr double kNoNeighbours = 1e-12;      // keeps a node without edges from dividing by 0
constexpr double kEdgeAttentionSlope = 0.2;  // of the leaky ReLU in front of attention

bool is_recurrent(Structure structure) {
  return structure == Structure::kBiLstm || structure == Structure::kLstm || structure == Structure::kGru ||
         structure == Structure::kRnn;
}

std::int64_t directions_of(Structure structure) {
  return structure == Structure::kBiLstm ? 2 : 1;
}

std::int64_t gates_of(Structure structure) {
  if (structure == Structure::kGru) return 3;
  return structure == Structure::kRnn ? 1 : 4;
}

std::int64_t heads_of(std::int64_t hidden) {
  for (const std::int64_t heads : {6, 4, 3, 2}) {
    if (hidden % heads == 0) return heads;
  }
  return 1;
}

class Shapes {
 public:
  void linear(std::int64_t in, std::int64_t out) {
    list.push_back({{out, in}, in});
    list.push_back({{out}, in});
  }
  void matrix(std::int64_t in, std::int64_t out) { list.push_back({{out, in}, in}); }
  void norm(std::int64_t size) {
    list.push_back({{size}, 0, 1});
    list.push_back({{size}, 0, 0});
  }
  void recurrence(std::int64_t gates, std::int64_t in, std::int64_t hidden) {
    list.push_back({{gates * hidden, in}, hidden});
    list.push_back({{gates * hidden, hidden}, hidden});
    list.push_back({{gates * hidden}, hidden});
    list.push_back({{gates * hidden}, hidden});
  }

  std::vector<ParameterShape> list;
};

at::Tensor recurrent(const NetworkOptions& options, Cursor& cursor, const at::Tensor& rows) {
  const std::int64_t directions = directions_of(options.structure);
  const at::Tensor x = rows.view({-1, options.length, options.inputs});
  const at::Tensor start = at::zeros({options.layers * directions, x.size(0), options.hidden}, x.options());
  const std::vector<at::Tensor> weights = cursor.next(4 * directions * options.layers);
  constexpr bool kBiases = true, kTrain = true, kBatchFirst = true;
  at::Tensor out;
  if (options.structure == Structure::kGru) {
    out = std::get<0>(at::gru(x, start, weights, kBiases, options.layers, 0.0, kTrain, false, kBatchFirst));
  } else if (options.structure == Structure::kRnn) {
    out = std::get<0>(at::rnn_tanh(x, start, weights, kBiases, options.layers, 0.0, kTrain, false, kBatchFirst));
  } else {
    const std::vector<at::Tensor> starts = {start, start};
    out = std::get<0>(at::lstm(x, starts, weights, kBiases, options.layers, 0.0, kTrain, directions == 2, kBatchFirst));
  }
  return cursor.linear(out.reshape({-1, options.hidden * directions}));
}

at::Tensor transformer(const NetworkOptions& options, Cursor& cursor, const at::Tensor& rows) {
  const std::int64_t length = options.length, hidden = options.hidden, heads = heads_of(hidden);
  const std::int64_t of_head = hidden / heads;
  at::Tensor x = cursor.linear(rows).view({-1, length, hidden});
  const std::int64_t count = x.size(0);
  x = x + cursor.next();
  for (std::int32_t layer = 0; layer < options.layers; ++layer) {
    const at::Tensor parts = cursor.linear(x).view({count, length, 3, heads, of_head}).permute({2, 0, 3, 1, 4});
    const at::Tensor scores =
        at::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(of_head));
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), parts[2]).transpose(1, 2);
    x = x + cursor.linear(mixed.reshape({count, length, hidden}));
    x = cursor.norm(x);
    const at::Tensor inner = at::relu(cursor.linear(x));
    x = x + cursor.linear(inner);
    x = cursor.norm(x);
  }
  return cursor.linear(x.view({-1, hidden}));
}

at::Tensor gcn(const NetworkOptions& options, Cursor& cursor, const BatchTensors& batch) {
  const at::Tensor ones = at::ones({batch.sources.size(0)}, batch.rows.options());
  const at::Tensor degree = at::ones({batch.rows.size(0)}, batch.rows.options())
                                .index_add(0, batch.sources, ones)
                                .index_add(0, batch.sinks, ones);
  const at::Tensor scale = degree.rsqrt();
  const at::Tensor along = (scale.index_select(0, batch.sources) * scale.index_select(0, batch.sinks)).unsqueeze(1);
  const at::Tensor own = degree.reciprocal().unsqueeze(1);
  at::Tensor x = batch.rows;
  for (std::int32_t layer = 0; layer < options.layers; ++layer) {
    const at::Tensor moved = at::linear(x, cursor.next());
    const at::Tensor spread = (moved * own)
                                  .index_add(0, batch.sinks, moved.index_select(0, batch.sources) * along)
                                  .index_add(0, batch.sources, moved.index_select(0, batch.sinks) * along);
    x = at::relu(spread + cursor.next());
  }
  return cursor.linear(x);
}

at::Tensor attention(const NetworkOptions& options, Cursor& cursor, const BatchTensors& batch) {
  at::Tensor x = at::relu(cursor.linear(batch.rows));
  at::Tensor edges = at::relu(cursor.linear(batch.edges));
  for (std::int32_t layer = 0; layer < options.layers; ++layer) {
    const at::Tensor of_edge = cursor.linear(edges);
    const at::Tensor of_source = at::linear(x, cursor.next()).index_select(0, batch.sources);
    const at::Tensor of_sink = at::linear(x, cursor.next()).index_select(0, batch.sinks);
    edges = at::relu(of_edge + of_source + of_sink);
    const at::Tensor score = at::leaky_relu(at::linear(edges, cursor.next()), kEdgeAttentionSlope);
    // Any constant may be taken off before the exponential; the largest keeps it finite.
    const at::Tensor raised = score.numel() == 0 ? score : at::exp(score - score.max().detach());
    const at::Tensor total = at::zeros({x.size(0), 1}, x.options()).index_add(0, batch.sinks, raised);
    const at::Tensor share = raised / (total.index_select(0, batch.sinks) + kNoNeighbours);
    const at::Tensor messages = (at::linear(x, cursor.next()).index_select(0, batch.sources) + edges) * share;
    const at::Tensor gathered = at::zeros_like(x).index_add(0, batch.sinks, messages);
    x = x + at::relu(cursor.linear(x) + gathered);
    x = cursor.norm(x);
  }
  const at::Tensor counts =
      at::zeros({batch.graph_count, 1}, x.options()).index_add(0, batch.graphs, at::ones({x.size(0), 1}, x.options()));
  const at::Tensor sums = at::zeros({batch.graph_count, options.hidden}, x.options()).index_add(0, batch.graphs, x);
  const at::Tensor pooled = at::cat({sums / counts, sums * kSumScale}, 1);
  const at::Tensor inner = at::relu(cursor.linear(pooled));
  return cursor.linear(inner);
}

at::Tensor mlp(const NetworkOptions& options, Cursor& cursor, const at::Tensor& rows,
               std::optional<std::uint64_t> dropout_seed) {
  at::Tensor x = rows;
  for (std::size_t layer = 0; layer < options.widths.size(); ++layer) x = at::relu(cursor.linear(x));
  if (options.dropout > 0 && dropout_seed) {
    auto generator = at::detail::createCPUGenerator(*dropout_seed);
    const at::Tensor kept = at::empty_like(x).bernoulli_(1 - options.dropout, generator);
    x = x * kept / (1 - options.dropout);
  }
  x = cursor.linear(x);
  return options.is_positive ? at::relu(x) : x;
}

void transformer_shapes(const NetworkOptions& options, Shapes& shapes) {
  const std::int64_t hidden = options.hidden;
  shapes.linear(options.inputs, hidden);
  shapes.list.push_back({{options.length, hidden}, hidden});
  for (std::int32_t layer = 0; layer < options.layers; ++layer) {
    shapes.linear(hidden, 3 * hidden);
    shapes.linear(hidden, hidden);
    shapes.norm(hidden);
    shapes.linear(hidden, kWidening * hidden);
    shapes.linear(kWidening * hidden, hidden);
    shapes.norm(hidden);
  }
  shapes.linear(hidden, options.outputs);
}

void attention_shapes(const NetworkOptions& options, Shapes& shapes) {
  const std::int64_t hidden = options.hidden;
  shapes.linear(options.inputs, hidden);
  shapes.linear(options.edge_inputs, hidden);
  for (std::int32_t layer = 0; layer < options.layers; ++layer) {
    shapes.linear(hidden, hidden);  // of an edge
    shapes.matrix(hidden, hidden);  // of its source
    shapes.matrix(hidden, hidden);  // of its sink
    shapes.matrix(hidden, 1);       // attention
    shapes.matrix(hidden, hidden);  // message
    shapes.linear(hidden, hidden);  // of the node itself
    shapes.norm(hidden);
  }
  shapes.linear(2 * hidden, hidden);
  shapes.linear(hidden, options.outputs);
}

}  // namespace

std::vector<ParameterShape> parameter_shapes(const NetworkOptions& options) {
  Shapes shapes;
  const std::int64_t hidden = options.hidden;
  if (is_recurrent(options.structure)) {
    const std::int64_t directions = directions_of(options.structure);
    for (std::int32_t layer = 0; layer < options.layers; ++layer) {
      for (std::int64_t direction = 0; direction < directions; ++direction) {
        shapes.recurrence(gates_of(options.structure), layer == 0 ? options.inputs : directions * hidden, hidden);
      }
    }
    shapes.linear(directions * hidden, options.outputs);
  } else if (options.structure == Structure::kTransformer) {
    transformer_shapes(options, shapes);
  } else if (options.structure == Structure::kGcn) {
    for (std::int32_t layer = 0; layer < options.layers; ++layer) {
      shapes.linear(layer == 0 ? options.inputs : hidden, hidden);
    }
    shapes.linear(hidden, options.outputs);
  } else if (options.structure == Structure::kAttention) {
    attention_shapes(options, shapes);
  } else if (options.structure == Structure::kInspector) {
    for (const InspectorParameter& one : inspector_parameters(options)) {
      shapes.list.push_back({one.sizes, one.fan_in, one.constant, one.is_trainable});
    }
  } else {
    std::int64_t in = options.inputs;
    for (const std::int32_t width : options.widths) {
      shapes.linear(in, width);
      in = width;
    }
    shapes.linear(in, options.outputs);
  }
  return std::move(shapes.list);
}

at::Tensor run_structure(const NetworkOptions& options, const std::vector<at::Tensor>& parameters,
                         const BatchTensors& batch, std::optional<std::uint64_t> dropout_seed) {
  Cursor cursor(parameters);
  switch (options.structure) {
    case Structure::kTransformer:
      return transformer(options, cursor, batch.rows);
    case Structure::kGcn:
      return gcn(options, cursor, batch);
    case Structure::kAttention:
      return attention(options, cursor, batch);
    case Structure::kInspector:
      return inspector(options, cursor, batch);
    case Structure::kMlp:
      return mlp(options, cursor, batch.rows, dropout_seed);
    default:
      return recurrent(options, cursor, batch.rows);
  }
}

}  // namespace orrery::predict
