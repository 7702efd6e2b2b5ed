#include "predict/analytic/activations.h"

#include <algorithm>

#include "workload/traits.h"

namespace orrery::predict {

using workload::CostOptions;
using workload::Operator;
using workload::OperatorClass;
using workload::OperatorKind;
using workload::OperatorTraits;
using workload::TrainingGraph;
using workload::Value;

namespace {

// Memory behind one or several values.
struct Storage {
  double bytes = 0;
  std::int32_t last_forward_use = -1;
  std::int32_t first_saver = -1;  // the earliest node whose backward reads it: the last to free it
};

class Walk {
 public:
  Walk(const TrainingGraph& graph, const CostOptions& options, std::int32_t first, std::int32_t last,
       const std::vector<double>& scale)
      : graph_(graph), options_(options), first_(first), last_(last), scale_(scale) {}

  ActivationMemory run() {
    assign_storage();
    mark_uses();
    ActivationMemory memory;
    forward();
    memory.saved = Bytes(alive_);
    backward();
    memory.peak = Bytes(peak_);
    memory.peak_node = peak_node_;
    return memory;
  }

 private:
  double share(std::int32_t node) const { return scale_.empty() ? 1 : scale_[static_cast<std::size_t>(node)]; }

  double bytes_of(Value value) const {
    return workload::tensor_bytes(graph_.type(value), options_.activation_bytes).value() * share(value.node);
  }

  // Index of the storage behind a value; -1 for parameters, which are counted elsewhere.
  int storage_of(Value value) const {
    return storage_index_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }

  void assign_storage() {
    storage_index_.resize(static_cast<std::size_t>(last_));
    for (std::int32_t node = 0; node < last_; ++node) {
      const Operator& op = graph_.node(node);
      auto& indices = storage_index_[static_cast<std::size_t>(node)];
      const bool shares =
          !op.inputs.empty() && (op.in_place || workload::traits(op.kind).op_class == OperatorClass::kView);
      if (op.kind == OperatorKind::kParameter) {
        indices.assign(op.outputs.size(), -1);
      } else if (shares) {
        indices.assign(op.outputs.size(), storage_of(op.inputs[0]));
      } else {
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
          indices.push_back(static_cast<int>(storages_.size()));
          storages_.push_back({bytes_of({node, static_cast<std::int32_t>(i)}), -1, -1});
        }
      }
    }
    gradient_bytes_.assign(storages_.size(), 0);
  }

  void save(Value value, std::int32_t node) {
    const int index = storage_of(value);
    if (index < 0) return;
    Storage& storage = storages_[static_cast<std::size_t>(index)];
    if (storage.first_saver < 0) storage.first_saver = node;
  }

  // Backward of a product needs an operand only for the gradient of the other one.
  bool saves_input(std::int32_t node, std::size_t input) const {
    const Operator& op = graph_.node(node);
    const OperatorTraits& traits = workload::traits(op.kind);
    if (!traits.saves_inputs) return false;
    const bool has_weight = op.kind == OperatorKind::kLinear || op.kind == OperatorKind::kConv2d ||
                            op.kind == OperatorKind::kConvTranspose2d;
    if (has_weight) return graph_.trains_weight(node);
    const bool two_operands = op.kind == OperatorKind::kMatmul || op.kind == OperatorKind::kMultiply;
    if (!two_operands || op.inputs.size() != 2) return true;
    return graph_.needs_gradient(op.inputs[1 - input].node);
  }

  void mark_uses() {
    for (std::int32_t node = first_; node < last_; ++node) {
      const Operator& op = graph_.node(node);
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const int index = storage_of(op.inputs[i]);
        if (index >= 0) storages_[static_cast<std::size_t>(index)].last_forward_use = node;
        if (graph_.needs_gradient(node) && saves_input(node, i)) save(op.inputs[i], node);
      }
      if (graph_.needs_gradient(node) && workload::traits(op.kind).saves_output) save({node, 0}, node);
    }
  }

  void allocate(double bytes, std::int32_t node) {
    alive_ += bytes;
    if (alive_ <= peak_) return;
    peak_ = alive_;
    peak_node_ = node;
  }

  void forward() {
    std::vector<bool> received(storages_.size(), false);
    for (std::int32_t node = first_; node < last_; ++node) {
      const Operator& op = graph_.node(node);
      for (const Value& input : op.inputs) {
        const int index = storage_of(input);
        if (index < 0 || input.node >= first_ || received[static_cast<std::size_t>(index)]) continue;
        received[static_cast<std::size_t>(index)] = true;
        allocate(storages_[static_cast<std::size_t>(index)].bytes, node);
      }
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        const int index = storage_of({node, static_cast<std::int32_t>(i)});
        const bool is_new = index >= 0 && (op.inputs.empty() || index != storage_of(op.inputs[0]));
        if (is_new) allocate(storages_[static_cast<std::size_t>(index)].bytes, node);
      }
      if (graph_.needs_gradient(node)) {
        allocate(workload::saved_extra(graph_, op, options_).value() * share(node), node);
      }
      free_after_forward(op, node);
    }
  }

  void free_after_forward(const Operator& op, std::int32_t node) {
    int previous = -1;
    for (const Value& input : op.inputs) {
      const int index = storage_of(input);
      if (index < 0 || index == previous) continue;
      previous = index;
      const Storage& storage = storages_[static_cast<std::size_t>(index)];
      if (storage.last_forward_use == node && storage.first_saver < 0) alive_ -= storage.bytes;
    }
  }

  void backward() {
    for (std::int32_t node = last_ - 1; node >= first_; --node) {
      if (!graph_.needs_gradient(node)) continue;
      const Operator& op = graph_.node(node);
      for (const Value& input : op.inputs) allocate_gradient(input, node);
      release_gradient(op, node);
      alive_ -= workload::saved_extra(graph_, op, options_).value() * share(node);
      release_saved(op, node);
    }
  }

  void allocate_gradient(Value input, std::int32_t node) {
    const int index = storage_of(input);
    if (index < 0 || !graph_.needs_gradient(input.node)) return;
    double& gradient = gradient_bytes_[static_cast<std::size_t>(index)];
    const double bytes = storages_[static_cast<std::size_t>(index)].bytes;
    if (gradient > 0) return;  // accumulated in place, or the same memory seen through a view
    gradient = bytes;
    allocate(bytes, node);
  }

  void release_gradient(const Operator& op, std::int32_t node) {
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const int index = storage_of({node, static_cast<std::int32_t>(i)});
      const bool shares = index >= 0 && !op.inputs.empty() && index == storage_of(op.inputs[0]);
      if (index < 0 || shares) continue;
      alive_ -= gradient_bytes_[static_cast<std::size_t>(index)];
      gradient_bytes_[static_cast<std::size_t>(index)] = 0;
    }
  }

  void release_saved(const Operator& op, std::int32_t node) {
    std::vector<int> seen;
    const auto release = [&](Value value) {
      const int index = storage_of(value);
      if (index < 0 || std::find(seen.begin(), seen.end(), index) != seen.end()) return;
      seen.push_back(index);
      const Storage& storage = storages_[static_cast<std::size_t>(index)];
      if (storage.first_saver == node) alive_ -= storage.bytes;
    };
    for (const Value& input : op.inputs) release(input);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) release({node, static_cast<std::int32_t>(i)});
  }

  const TrainingGraph& graph_;
  const CostOptions& options_;
  std::int32_t first_, last_;
  const std::vector<double>& scale_;
  std::vector<std::vector<int>> storage_index_;
  std::vector<Storage> storages_;
  std::vector<double> gradient_bytes_;  // by storage, while alive
  double alive_ = 0;
  double peak_ = 0;
  std::int32_t peak_node_ = -1;
};

}  // namespace

ActivationMemory activation_memory(const TrainingGraph& graph, const CostOptions& options, std::int32_t first,
                                   std::int32_t last, const std::vector<double>& scale) {
  return Walk(graph, options, first, last, scale).run();
}

ActivationMemory activation_memory(const TrainingGraph& graph, const CostOptions& options) {
  return activation_memory(graph, options, 0, static_cast<std::int32_t>(graph.operators().size()));
}

}  // namespace orrery::predict
