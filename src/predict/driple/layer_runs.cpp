#include "predict/driple/layer_runs.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "predict/regression/python_literal.h"

namespace orrery::predict {

namespace {

bool is_size(double value) {
  return value >= 0 && value <= kRunSizeMax;
}

Result<std::vector<RunLayer>> parse_layers_of(std::string_view text) {
  ORRERY_TRY(const nlohmann::json list, parse_python_literal(text));
  if (!list.is_array() || list.empty() || list.size() > kRunLayersMax) {
    return Error::invalid(fmt::format("expected a list of 1 to {} layers", kRunLayersMax));
  }
  std::vector<RunLayer> layers;
  for (const nlohmann::json& one : list) {
    if (!one.is_array() || one.size() != 3 || !one[0].is_string() || !one[1].is_number() || !one[2].is_number()) {
      return Error::invalid("expected layers as (kind, activations, parameters)");
    }
    layers.push_back({one[0].get<std::string>(), one[1].get<double>(), one[2].get<double>()});
    if (!is_size(layers.back().activations) || !is_size(layers.back().parameters)) {
      return Error::invalid("the size of a layer is out of range");
    }
  }
  return layers;
}

// PyTorch's name of a layer as TensorFlow's of an operator, where it has one.
std::string_view op_of(std::string_view kind) {
  if (kind == "linear") return "MatMul";
  if (kind == "batch_normalization") return "FusedBatchNorm";
  if (kind == "ReLU") return "Relu";
  return kind;
}

// Sizes of the parameter tensors of a layer: weight and bias, or scale and shift.
std::vector<double> tensors_of(const RunLayer& layer) {
  if (!(layer.parameters > 0)) return {};
  if (layer.kind == "linear" && layer.parameters > layer.activations) {
    return {layer.parameters - layer.activations, layer.activations};
  }
  if (layer.kind == "batch_normalization") return {layer.parameters / 2, layer.parameters / 2};
  return {layer.parameters};
}

}  // namespace

Result<std::vector<LayerRun>> parse_layer_runs(std::string_view csv) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  ORRERY_TRY(const std::size_t name, table.column("Filename"));
  ORRERY_TRY(const std::size_t layers, table.column("Activations-Params"));
  ORRERY_TRY(const std::size_t batch, table.column("Batch Size"));
  std::array<std::size_t, kResourceTargets.size()> targets{};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    ORRERY_TRY(targets[i], table.column(kResourceTargets[i].column));
  }
  std::vector<LayerRun> runs;
  for (const CsvRow& row : table.rows) {
    auto parsed = parse_layers_of(row.fields[layers]);
    if (!parsed) return std::move(parsed).error().with_context(fmt::format("line {}", row.line));
    LayerRun run{.name = row.fields[name], .layers = std::move(*parsed)};
    run.batch = parse_number(row.fields[batch]).value_or(0);
    if (!(run.batch >= 1) || !is_size(run.batch)) {
      return Error::invalid(fmt::format("line {}: expected a batch size, got {}", row.line, quote(row.fields[batch])));
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto used = parse_number(row.fields[targets[i]]);
      if (!used || !is_size(*used)) {
        return Error::invalid(fmt::format("line {}: {}: expected a number from 0 on, got {}", row.line,
                                          kResourceTargets[i].column, quote(row.fields[targets[i]])));
      }
      run.used[i] = *used;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

BuiltGraph build_node_graph(const LayerRun& run, const OpFrequencies& frequencies, const NodeGraphOptions& options) {
  BuiltGraph built;
  const auto add = [&](std::string_view op, double size) {
    return built.add(op, size, frequencies, options.unknown_share);
  };
  // Of a linear layer of n outputs and p = n (inputs + 1) parameters.
  const RunLayer& first = run.layers.front();
  const double inputs = first.activations > 0 ? std::max(0.0, first.parameters / first.activations - 1) : 0;
  std::uint32_t before = add("IteratorGetNext", run.batch * inputs);
  for (const RunLayer& layer : run.layers) {
    const std::uint32_t node = add(op_of(layer.kind), run.batch * layer.activations);
    built.graph.edges.emplace_back(before, node);
    for (const double size : tensors_of(layer)) built.graph.edges.emplace_back(node, add("VariableV2", size));
    before = node;
  }
  built.graph.edges = distinct_edges(std::move(built.graph.edges));
  return built;
}

}  // namespace orrery::predict
