#pragma once
// Measured training runs whose models are lists of layers, as GPUMemNet publishes them: what a run used of a GPU, and
// its model as a graph.
//
// The graph: an input, the layers in a chain behind it, and one VariableV2 per parameter tensor beside its layer
// (weight and bias of a linear layer, scale and shift of a normalisation). A layer's tensor has batch × activations
// elements.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "predict/driple/node_graph.h"

namespace orrery::predict {

struct ResourceTarget {
  std::string_view column, name;
};
inline constexpr std::array<ResourceTarget, 6> kResourceTargets = {{{"Max GPU Memory (MiB)", "peak memory MiB"},
                                                                    {"Avg GPUTL", "GPU utilisation %"},
                                                                    {"Avg GRACT", "graphics engine active"},
                                                                    {"Avg SMACT", "multiprocessors active"},
                                                                    {"Avg SMOCC", "multiprocessors occupied"},
                                                                    {"Avg FP32A", "FP32 pipe active"}}};

struct RunLayer {
  std::string kind;  // "linear", "ReLU"
  double activations = 0, parameters = 0;
};

inline constexpr std::size_t kRunLayersMax = 4096;
inline constexpr double kRunSizeMax = 1e12;  // of a layer or a batch

struct LayerRun {
  std::string name;
  std::vector<RunLayer> layers;
  double batch = 1;
  std::array<double, kResourceTargets.size()> used{};
};

// CSV with Filename, Activations-Params, Batch Size and the columns of kResourceTargets. Errors name the line.
Result<std::vector<LayerRun>> parse_layer_runs(std::string_view csv);

BuiltGraph build_node_graph(const LayerRun& run, const OpFrequencies& frequencies,
                            const NodeGraphOptions& options = {});

}  // namespace orrery::predict
