#pragma once
// Weights of inspectors for tests and benchmarks.

#include "base/random.h"
#include "predict/driple/checkpoint.h"

namespace orrery::predict {

// Under the published names, uniform in ±0.6.
inline Checkpoint random_inspector_weights(std::int64_t hidden, std::int64_t outputs, std::uint64_t seed) {
  const std::string gru = "gru.gru.", lstm = "graph_read_out.set2set.lstm.",
                    mlp = "graph_read_out.mlp.fully_connected.";
  const std::map<std::string, std::vector<std::int64_t>> shapes = {{"conv_layers.0.W", {3, hidden}},
                                                                   {"conv_layers.0.b", {hidden}},
                                                                   {"conv_layers.1.W", {hidden, hidden}},
                                                                   {"conv_layers.1.b", {hidden}},
                                                                   {gru + "weight_ih_l0", {3 * hidden, hidden}},
                                                                   {gru + "weight_hh_l0", {3 * hidden, hidden}},
                                                                   {gru + "bias_ih_l0", {3 * hidden}},
                                                                   {gru + "bias_hh_l0", {3 * hidden}},
                                                                   {lstm + "weight_ih_l0", {4 * hidden, 2 * hidden}},
                                                                   {lstm + "weight_hh_l0", {4 * hidden, hidden}},
                                                                   {lstm + "bias_ih_l0", {4 * hidden}},
                                                                   {lstm + "bias_hh_l0", {4 * hidden}},
                                                                   {mlp + "0.linear.weight", {hidden, 2 * hidden}},
                                                                   {mlp + "0.linear.bias", {hidden}},
                                                                   {mlp + "1.linear.weight", {hidden, hidden}},
                                                                   {mlp + "1.linear.bias", {hidden}},
                                                                   {mlp + "2.linear.weight", {outputs, hidden}},
                                                                   {mlp + "2.linear.bias", {outputs}}};
  Random random(seed);
  Checkpoint checkpoint;
  for (const auto& [name, shape] : shapes) {
    CheckpointTensor& tensor = checkpoint[name];
    tensor.shape = shape;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    for (std::int64_t i = 0; i < count; ++i) tensor.values.push_back(static_cast<float>(random.uniform(-0.6, 0.6)));
  }
  return checkpoint;
}

}  // namespace orrery::predict
