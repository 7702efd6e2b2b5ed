#pragma once
// The parameters of an inspector (network.h) in their order: names, sizes, how they begin and whether they learn. It is
// in the header because the library with libtorch does not link this module.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "predict/neural/network.h"

namespace orrery::predict {

inline constexpr std::int32_t kInspectorHeads = 4;  // of attention, and towers

struct InspectorParameter {
  std::string name;  // "first.weight", "further.weight", "copy.weight", "gru…", "readout…", "mlp.0.weight"
  std::vector<std::int64_t> sizes;
  std::int64_t fan_in = 0;  // begins uniform in ±1/√fan_in; 0: constant
  float constant = 0;
  bool is_trainable = true;

  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes) product *= size;
    return product;
  }
};

class InspectorForm {
 public:
  explicit InspectorForm(const NetworkOptions& options) : options_(options) {}

  std::vector<InspectorParameter> list() {
    const std::int64_t hidden = options_.hidden;
    const bool all = options_.transfer == Transfer::kNone;
    graph_layer("first", options_.inputs, all);
    graph_layer("further", hidden, all);
    if (options_.transfer == Transfer::kHalf) graph_layer("copy", hidden, true);
    recurrence("gru", 3, hidden, all);
    const bool is_set = options_.readout == Readout::kSet2Set;
    if (is_set) recurrence("readout", 4, 2 * hidden, all);
    const std::int64_t widths[] = {is_set ? 2 * hidden : hidden, hidden, hidden, options_.outputs};
    for (int i = 0; i < 3; ++i) {
      const std::string name = "mlp." + std::to_string(i);
      add(name + ".weight", {widths[i + 1], widths[i]}, widths[i], true);
      add(name + ".bias", {widths[i + 1]}, widths[i], true);
    }
    // Answers are shares from 0 to 1: one that began below 0 would hardly move under the leaky ReLU.
    list_.back().fan_in = 0;
    list_.back().constant = 0.25F;
    return std::move(list_);
  }

 private:
  void add(std::string name, std::vector<std::int64_t> sizes, std::int64_t fan_in, bool is_trainable) {
    list_.push_back({std::move(name), std::move(sizes), fan_in, 0, is_trainable});
  }

  void graph_layer(const std::string& name, std::int64_t in, bool is_trainable) {
    const std::int64_t hidden = options_.hidden, part = hidden / kInspectorHeads;
    const auto one = [&](const char* what, std::vector<std::int64_t> sizes, std::int64_t fan_in) {
      add(name + "." + what, std::move(sizes), fan_in, is_trainable);
    };
    one("weight", {hidden, in}, in);
    one("bias", {hidden}, in);
    switch (options_.graph_layer) {
      case GraphLayer::kGcn:
        break;
      case GraphLayer::kGin:
        one("weight2", {hidden, hidden}, hidden);
        one("bias2", {hidden}, hidden);
        one("epsilon", {1}, 0);
        list_.back().constant = 0.1F;
        break;
      case GraphLayer::kGat:
        one("sink", {hidden}, part);
        one("source", {hidden}, part);
        break;
      case GraphLayer::kMpnn:
        one("sink", {hidden, in}, in);
        one("source", {hidden, in}, in);
        one("towers", {kInspectorHeads, part, part}, part);
        break;
    }
  }

  void recurrence(const std::string& name, std::int64_t gates, std::int64_t in, bool is_trainable) {
    const std::int64_t hidden = options_.hidden;
    add(name + ".input", {gates * hidden, in}, hidden, is_trainable);
    add(name + ".state", {gates * hidden, hidden}, hidden, is_trainable);
    add(name + ".input_bias", {gates * hidden}, hidden, is_trainable);
    add(name + ".state_bias", {gates * hidden}, hidden, is_trainable);
  }

  const NetworkOptions& options_;
  std::vector<InspectorParameter> list_;
};

inline std::vector<InspectorParameter> inspector_parameters(const NetworkOptions& options) {
  return InspectorForm(options).list();
}

// Makes a newly initialised GRU cell pass on its input. At random it halves it: after eight layers a two-thousandth of
// the difference between two graphs is left, after 16 nothing in single precision, and no gradient returns (the
// published training takes up to 100,000 passes). With K layers at most it begins as
//
//   n = tanh(x), z = σ(… − log K)               so that x ← (1 − z) n + z y is nearly x, for K layers together
//
// The part of the layer's output in n begins at 0, as the last map of a residual branch (Zhang et al., "Fixup", 2019);
// the bias of z is that of gates that have to remember for K steps (Tallec and Ollivier 2018).
inline void let_nodes_through(const NetworkOptions& options, std::span<float> parameters) {
  const auto h = static_cast<std::size_t>(options.hidden);
  const float closed = std::log(static_cast<float>(std::max(1, options.layers)));
  for (const InspectorParameter& one : inspector_parameters(options)) {
    const std::span<float> values = parameters.first(static_cast<std::size_t>(one.count()));
    parameters = parameters.subspan(values.size());
    if (!one.name.starts_with("gru.")) continue;
    const std::span<float> fresh = values.last(values.size() / 3);  // of r, z, n
    std::fill(fresh.begin(), fresh.end(), 0.0F);
    for (std::size_t i = 0; i < h; ++i) {
      if (one.name == "gru.input") fresh[i * h + i] = 1;
      if (one.name == "gru.input_bias") values[h + i] -= closed;
    }
  }
}

}  // namespace orrery::predict
