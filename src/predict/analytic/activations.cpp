#include "predict/analytic/activations.h"

#include <algorithm>

#include "workload/traits.h"

namespace orrery::predict {

using workload::CostOptions;
using workload::Operator;
using workload::OperatorClass;
using workload::OperatorIndex;
using workload::OperatorKind;
using workload::OperatorTraits;
using workload::TrainingGraph;
using workload::Value;

namespace {

// Memory behind one or several values.
struct Storage {
  double bytes = 0;
  OperatorIndex last_forward_use;
  OperatorIndex first_saver;  // the earliest operator whose backward reads it: the last to free it
};
using StorageIndex = Index<Storage>;

class Walk {
 public:
  Walk(const TrainingGraph& graph, const CostOptions& options, OperatorIndex first, OperatorIndex last,
       const workload::ByOperator<double>& scale)
      : graph_(graph), options_(options), first_(first), last_(last), scale_(scale) {}

  ActivationMemory run() {
    assign_storage();
    mark_uses();
    ActivationMemory memory;
    forward();
    memory.saved = Bytes(alive_);
    backward();
    memory.peak = Bytes(peak_);
    return memory;
  }

 private:
  IndexRange<OperatorIndex> operators() const { return {first_, last_}; }

  double share(OperatorIndex at) const { return scale_.empty() ? 1 : scale_[at]; }

  double bytes_of(Value value) const {
    return workload::tensor_bytes(graph_.type(value), options_.activation_bytes).value() * share(value.op);
  }

  // None for parameters, which are counted elsewhere.
  StorageIndex storage_of(Value value) const {
    return storage_index_[value.op][static_cast<std::size_t>(value.output)];
  }

  void assign_storage() {
    storage_index_.resize(last_.place());
    for (const OperatorIndex at : storage_index_.indices()) {
      const Operator& op = graph_[at];
      auto& indices = storage_index_[at];
      const bool shares =
          !op.inputs.empty() && (op.in_place || workload::traits(op.kind).op_class == OperatorClass::kView);
      if (op.kind == OperatorKind::kParameter) {
        indices.assign(op.outputs.size(), StorageIndex());
      } else if (shares) {
        indices.assign(op.outputs.size(), storage_of(op.inputs[0]));
      } else {
        for (std::size_t i = 0; i < op.outputs.size(); ++i) {
          indices.emplace_back(storages_.size());
          storages_.push_back({bytes_of({at, static_cast<std::int32_t>(i)}), {}, {}});
        }
      }
    }
    gradient_bytes_.assign(storages_.size(), 0);
  }

  void save(Value value, OperatorIndex at) {
    const StorageIndex index = storage_of(value);
    if (!index.valid()) return;
    Storage& storage = storages_[index];
    if (!storage.first_saver.valid()) storage.first_saver = at;
  }

  // Backward of a product needs an operand only for the gradient of the other one.
  bool saves_input(OperatorIndex at, std::size_t input) const {
    const Operator& op = graph_[at];
    const OperatorTraits& traits = workload::traits(op.kind);
    if (!traits.saves_inputs) return false;
    const bool has_weight = op.kind == OperatorKind::kLinear || op.kind == OperatorKind::kConv2d ||
                            op.kind == OperatorKind::kConvTranspose2d;
    if (has_weight) return graph_.trains_weight(at);
    const bool two_operands = op.kind == OperatorKind::kMatmul || op.kind == OperatorKind::kMultiply;
    if (!two_operands || op.inputs.size() != 2) return true;
    return graph_.needs_gradient(op.inputs[1 - input].op);
  }

  void mark_uses() {
    for (const OperatorIndex at : operators()) {
      const Operator& op = graph_[at];
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const StorageIndex index = storage_of(op.inputs[i]);
        if (index.valid()) storages_[index].last_forward_use = at;
        if (graph_.needs_gradient(at) && saves_input(at, i)) save(op.inputs[i], at);
      }
      if (graph_.needs_gradient(at) && workload::traits(op.kind).saves_output) save({at, 0}, at);
    }
  }

  void allocate(double bytes) {
    alive_ += bytes;
    peak_ = std::max(peak_, alive_);
  }

  void forward() {
    IndexedVector<StorageIndex, bool> received(storages_.size(), false);
    for (const OperatorIndex at : operators()) {
      const Operator& op = graph_[at];
      for (const Value& input : op.inputs) {
        const StorageIndex index = storage_of(input);
        if (!index.valid() || input.op >= first_ || received[index]) continue;
        received[index] = true;
        allocate(storages_[index].bytes);
      }
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        const StorageIndex index = storage_of({at, static_cast<std::int32_t>(i)});
        const bool is_new = index.valid() && (op.inputs.empty() || index != storage_of(op.inputs[0]));
        if (is_new) allocate(storages_[index].bytes);
      }
      if (graph_.needs_gradient(at)) {
        allocate(workload::saved_extra(graph_, op, options_).value() * share(at));
      }
      free_after_forward(op, at);
    }
  }

  void free_after_forward(const Operator& op, OperatorIndex at) {
    StorageIndex previous;
    for (const Value& input : op.inputs) {
      const StorageIndex index = storage_of(input);
      if (!index.valid() || index == previous) continue;
      previous = index;
      const Storage& storage = storages_[index];
      if (storage.last_forward_use == at && !storage.first_saver.valid()) alive_ -= storage.bytes;
    }
  }

  void backward() {
    for (const OperatorIndex at : operators().reversed()) {
      if (!graph_.needs_gradient(at)) continue;
      const Operator& op = graph_[at];
      for (const Value& input : op.inputs) allocate_gradient(input);
      release_gradient(op, at);
      alive_ -= workload::saved_extra(graph_, op, options_).value() * share(at);
      release_saved(op, at);
    }
  }

  void allocate_gradient(Value input) {
    const StorageIndex index = storage_of(input);
    if (!index.valid() || !graph_.needs_gradient(input.op)) return;
    double& gradient = gradient_bytes_[index];
    const double bytes = storages_[index].bytes;
    if (gradient > 0) return;  // accumulated in place, or the same memory seen through a view
    gradient = bytes;
    allocate(bytes);
  }

  void release_gradient(const Operator& op, OperatorIndex at) {
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const StorageIndex index = storage_of({at, static_cast<std::int32_t>(i)});
      const bool shares = index.valid() && !op.inputs.empty() && index == storage_of(op.inputs[0]);
      if (!index.valid() || shares) continue;
      alive_ -= gradient_bytes_[index];
      gradient_bytes_[index] = 0;
    }
  }

  void release_saved(const Operator& op, OperatorIndex at) {
    std::vector<StorageIndex> seen;
    const auto release = [&](Value value) {
      const StorageIndex index = storage_of(value);
      if (!index.valid() || std::find(seen.begin(), seen.end(), index) != seen.end()) return;
      seen.push_back(index);
      const Storage& storage = storages_[index];
      if (storage.first_saver == at) alive_ -= storage.bytes;
    };
    for (const Value& input : op.inputs) release(input);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) release({at, static_cast<std::int32_t>(i)});
  }

  const TrainingGraph& graph_;
  const CostOptions& options_;
  OperatorIndex first_, last_;
  const workload::ByOperator<double>& scale_;
  workload::ByOperator<std::vector<StorageIndex>> storage_index_;  // by output
  IndexedVector<StorageIndex, Storage> storages_;
  IndexedVector<StorageIndex, double> gradient_bytes_;  // while alive
  double alive_ = 0;
  double peak_ = 0;
};

}  // namespace

ActivationMemory activation_memory(const TrainingGraph& graph, const CostOptions& options, OperatorIndex first,
                                   OperatorIndex last, const workload::ByOperator<double>& scale) {
  return Walk(graph, options, first, last, scale).run();
}

ActivationMemory activation_memory(const TrainingGraph& graph, const CostOptions& options) {
  return activation_memory(graph, options, OperatorIndex(0), OperatorIndex(graph.operators().size()));
}

}  // namespace orrery::predict
