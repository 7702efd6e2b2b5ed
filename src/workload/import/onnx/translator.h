#pragma once
// The state of one translation (translate.h), and the rules, by the kind of operator; each group has its own source
// file.

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "workload/graph.h"
#include "workload/import/append.h"
#include "workload/import/onnx/fold.h"
#include "workload/import/onnx/fusion.h"
#include "workload/import/onnx/model.h"

namespace orrery::workload::import {

using Dims = std::vector<std::int64_t>;

// A value of the graph we make, and where its batch is.
struct OnnxValue {
  Value value;
  int batch_axis = -1;     // -1: it has none
  std::int64_t inner = 1;  // elements of that axis per sample
};

// What is known about a tensor of the file.
struct TensorState {
  enum class Kind { kUnset, kConstant, kValue } kind = Kind::kUnset;
  std::int32_t index = -1;  // into constants_ or bounds_
};

// A window with its padding before and after, of height and width.
struct PaddedWindow {
  Window2d shape;
  std::int64_t before[2] = {0, 0}, after[2] = {0, 0};  // what does not fit into a symmetric padding
  std::int64_t output_padding[2] = {0, 0};
};

std::int64_t product_of(std::span<const std::int64_t> dims);

class OnnxTranslator {
 public:
  OnnxTranslator(const OnnxModel& model, std::string name, std::int64_t open_batch)
      : model_(model),
        name_(std::move(name)),
        batch_(open_batch),
        uses_(model),
        fusions_(find_fusions(model, uses_)),
        states_(model.names.size()) {}

  Result<TrainingGraph> run();

 private:
  using Rule = Status (OnnxTranslator::*)(const OnnxNode&);

  // Sources and losses (translate.cpp)
  Status add_input(TensorId id, bool is_first);

  // One loss on the first output, and on each other of the same shape: the heads that help to train deep models.
  Status add_losses();

  // Making operators (translate.cpp)
  Result<Value> emit(OperatorKind kind, std::string name, std::vector<Value> inputs, Attributes attributes,
                     OperatorIndex tied_to = {}, bool in_place = false);
  const TensorType& type_of(Value v) const;
  const Shape& shape_of(const OnnxValue& b) const { return type_of(b.value).shape; }
  Dims dims_of(const OnnxValue& b) const;

  // As the file calls it: by its weight ("layer1.0.conv1"), or by its own name.
  std::string name_of(const OnnxNode& node) const;

  // Tensors of the file (translate.cpp)
  const TensorState& state(TensorId id) const { return states_[static_cast<std::size_t>(id)]; }

  void bind(TensorId id, const OnnxValue& bound);
  void bind_constant(TensorId id, Constant constant);

  // Binds the first output.
  void give(const OnnxNode& node, const OnnxValue& bound);
  static TensorId input_id(const OnnxNode& node, std::size_t index);
  const Constant* constant_of(TensorId id) const;
  const Constant* constant_at(const OnnxNode& node, std::size_t index) const;
  std::vector<const Constant*> constants_at(const OnnxNode& node) const;
  Result<OnnxValue> value_of(TensorId id);
  Result<OnnxValue> value_at(const OnnxNode& node, std::size_t index);
  Result<const Constant*> weight_at(const OnnxNode& node, std::size_t index, std::string_view what);

  // Constants that are operands (operands.cpp)
  // The learned tensor itself, one operator however often it is used.
  Result<OnnxValue> parameter_of(TensorId initializer);
  Result<OnnxValue> materialize(TensorId id);
  Result<OnnxValue> learned_operand(TensorId id, const Constant& constant);
  bool is_repeated_per_sample(const Dims& dims, std::int64_t elements) const;
  Result<OnnxValue> expanded(const OnnxValue& row);

  // Something that is neither learned nor data: masks, zeros.
  Result<OnnxValue> fixed_operand(TensorId id, const Constant& constant);

  // Views and copies (views.cpp)
  // Which dimension of `target` has the batch of `x` after a reshape; -1 if none has it whole.
  OnnxValue place_batch(const OnnxValue& x, const Dims& target) const;
  Result<OnnxValue> reshaped(const OnnxValue& x, const Dims& target);
  Result<OnnxValue> reshaped_as(const OnnxValue& x, const Dims& target, OnnxValue result);

  // A reshape of a transposed tensor copies it first, unless the new dimensions only split or keep the old ones.
  Result<Value> viewable(const OnnxValue& x, const Dims& target);
  bool is_view_of_transpose(const Operator& op, const Dims& target) const;
  Result<OnnxValue> transposed(const OnnxValue& x, const std::vector<int>& order);
  Result<OnnxValue> sliced(const OnnxValue& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step);

  // Without dimension `axis`, which is 1.
  Result<OnnxValue> without_axis(const OnnxValue& x, int axis);
  Result<OnnxValue> padded(const OnnxValue& x, const Dims& before, const Dims& after);

  // Picks or repeats elements: any output shape.
  Result<OnnxValue> indexed(const OnnxValue& x, Dims dims);

  // Operators without a rule (operands.cpp)
  Result<OnnxValue> other(const OnnxNode& node, const std::vector<OnnxValue>& inputs, Dims dims, DataType dtype,
                          std::vector<Dims> parameters = {});
  std::vector<OnnxValue> values_of(const OnnxNode& node) const;

  // Learned constants among the inputs: parameters of an operator that has no rule.
  std::vector<Dims> parameters_of(const OnnxNode& node);

  // With the shapes the file states for its outputs.
  Status translate_other(const OnnxNode& node);
  Result<std::pair<Dims, DataType>> stated_type(TensorId id) const;

  // Which rule (rules.cpp)
  Status translate_node(std::int32_t index);

  // The bias of a product, taken along by it.
  bool is_bound_already(const OnnxNode& node) const;
  Status fold_shape(const OnnxNode& node);
  Result<bool> fold_constant(const OnnxNode& node);
  static const std::unordered_map<std::string_view, Rule>& all_rules();
  Status control_flow(const OnnxNode& node);
  Status translate_fused(const OnnxNode& node, const Fused& fused);

  // Products (products.cpp)
  // Records the owner of a weight. An error if it is another operator's already: only linear layers can share.
  Status own(const Constant& weight, const OnnxNode& node);

  // The lists of a window, for one or two spatial dimensions.
  Result<PaddedWindow> window_of(const OnnxNode& node, const Dims& kernel, const Dims& input, bool is_pool);

  // [batch, channels, length] as an image of height 1.
  Result<OnnxValue> as_image(const OnnxValue& x, std::size_t spatial);
  Result<OnnxValue> from_image(const OnnxValue& x, std::size_t spatial);
  Result<std::size_t> spatial_dimensions(const Dims& weight);
  Status conv(const OnnxNode& node);
  Status conv_transpose(const OnnxNode& node);
  Result<OnnxValue> linear(const OnnxNode& node, const OnnxValue& x, const Constant& weight, std::int64_t in,
                           std::int64_t out, bool bias, std::string name);
  Result<OnnxValue> swapped(const OnnxValue& x);
  Status gemm(const OnnxNode& node);
  Result<OnnxValue> multiplied(const OnnxNode& node, const OnnxValue& a, const OnnxValue& b);
  Status matmul(const OnnxNode& node);

  // The Add of a constant vector that alone uses a product's result: its bias.
  const OnnxNode* bias_after(TensorId product, std::int64_t out) const;
  Status recurrent(const OnnxNode& node);
  Result<OnnxValue> emit_recurrent(const OnnxNode& node, OperatorKind kind, const OnnxValue& x,
                                   const RecurrentAttributes& attributes);

  // Normalisation (elementwise.cpp)
  Status batch_norm(const OnnxNode& node);
  Status instance_norm(const OnnxNode& node);
  Status layer_norm(const OnnxNode& node);

  // Element by element (elementwise.cpp)
  // Frameworks overwrite the input of these where nothing else needs it.
  bool can_overwrite(const OnnxNode& node, const OnnxValue& x) const;
  Status activation(const OnnxNode& node);
  Status emit_activation(const OnnxNode& node, OperatorKind kind);
  Status clip(const OnnxNode& node);
  Status softmax(const OnnxNode& node);

  // The batch of what two operands broadcast to.
  OnnxValue broadcast_batch(const OnnxValue& a, const OnnxValue& b) const;

  // x (op) the tensor `id`: with a number, a scale; with anything learned or computed, an operator of two inputs.
  Result<OnnxValue> combined(const OnnxNode& node, OperatorKind kind, const OnnxValue& x, TensorId id,
                             bool swap = false);
  Status arithmetic(const OnnxNode& node);
  Status sum_of_many(const OnnxNode& node);
  Status same_shape(const OnnxNode& node);
  Status broadcast_shape(const OnnxNode& node);

  // Pooling and reduction (pooling.cpp)
  Status pool(const OnnxNode& node);
  Status global_pool(const OnnxNode& node);

  // Where the batch is after these axes are gone.
  static OnnxValue after_reduction(const OnnxValue& x, const std::vector<int>& axes, bool keep);
  Status reduce(const OnnxNode& node);
  Status reduce_other(const OnnxNode& node);

  // Layout (layout.cpp)
  Status reshape(const OnnxNode& node);
  Status flatten(const OnnxNode& node);
  Status squeeze(const OnnxNode& node);
  Status transpose(const OnnxNode& node);
  Status slice(const OnnxNode& node);
  Status split(const OnnxNode& node);
  Status gather(const OnnxNode& node);

  // Rows of a table by indices that are data.
  Status gather_rows(const OnnxNode& node, const Constant& data);
  Status expand(const OnnxNode& node);
  Status tile(const OnnxNode& node);

  // Two slices of one value, concatenated in reverse order.
  const Operator* rolled_source(const std::vector<OnnxValue>& parts, int axis, Value& source) const;
  Status concat(const OnnxNode& node);
  Status pad(const OnnxNode& node);
  Status dropout(const OnnxNode& node);
  Status identity(const OnnxNode& node);
  Status resize(const OnnxNode& node);
  Status depth_to_space(const OnnxNode& node);

  const OnnxModel& model_;
  std::string name_;
  std::int64_t batch_;
  std::string batch_symbol_;
  OnnxUses uses_;
  Fusions fusions_;

  std::vector<TensorState> states_;
  std::deque<Constant> constants_;
  std::vector<OnnxValue> bounds_;
  std::size_t numbers_left_ = 4'000'000;  // of all folded constants

  Operators operators_;
  OperatorAppender appender_;
  OnnxValue sample_;                                      // an input that has the batch in front
  std::unordered_map<TensorId, OnnxValue> parameters_;    // initializers that are operands
  std::unordered_map<TensorId, OnnxValue> materialized_;  // constants that are operands
  std::unordered_map<TensorId, OperatorIndex> owners_;    // operators that have an initializer as their weight
};

}  // namespace orrery::workload::import
