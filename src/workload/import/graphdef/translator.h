#pragma once
// The translator behind translate_graphdef(), shared by the files with its rules. Not for use elsewhere.
//
// Every output of a node that the result needs is one of: a constant (weights, shapes and what is computed of them), a
// value of the graph that is made, or a loss, after which nothing more is computed. Rules read inputs with
// constant_at() and value_at() and end with give().

#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "workload/graph.h"
#include "workload/import/append.h"
#include "workload/import/batch_axis.h"
#include "workload/import/graphdef/fold.h"
#include "workload/import/graphdef/phases.h"

namespace orrery::workload::import {

using Dims = std::vector<std::int64_t>;

// A value of the graph that is made.
struct Bound {
  Value value;
  BatchPlace batch;
  bool channels_first = false;  // [n, h, w, c] in the file, [n, c, h, w] here
};
struct Loss {};

class GraphDefTranslator {
 public:
  GraphDefTranslator(const GraphDefIndex& index, const GraphDefPhases& phases, std::int64_t open_batch);
  Result<TrainingGraph> run(const std::string& name);

  // Whether an input of the last run had an open first dimension.
  bool has_open_batch() const { return has_open_batch_; }

 private:
  using Result1 = Result<Bound>;
  using Rule = Status (GraphDefTranslator::*)(const GraphDefNode&);
  using Slot = std::variant<std::monostate, Constant, Bound, Loss>;
  struct Window {
    Window2d shape;
    std::int64_t before[2] = {0, 0}, after[2] = {0, 0};  // what does not fit into a symmetric padding
  };

  // --- translate.cpp: the walk
  void find_wanted();
  void count_uses(const std::vector<std::int32_t>& order);
  Status refuse_control_flow() const;
  Status translate_node(std::int32_t node);
  static const std::unordered_map<std::string_view, Rule>& rules();
  Result<bool> translate_source(const GraphDefNode& node);
  Status variable(const GraphDefNode& node);
  bool absorb_loss(const GraphDefNode& node);
  Result<bool> fold(const GraphDefNode& node);
  Status add_losses();
  Status other(const GraphDefNode& node);
  Result1 emit_input(const GraphDefNode& node, int output);
  Result<Dims> stated_dims(const GraphDefShape& shape, std::string_view what) const;

  // --- values.cpp: inputs, outputs and layout
  std::size_t input_count() const;
  const Slot* slot_at(std::size_t input) const;
  const Constant* constant_at(std::size_t input) const;
  std::vector<const Constant*> constants() const;
  Result<Dims> integers_at(std::size_t input, std::string_view what) const;
  Result1 value_at(std::size_t input);      // in the order of the file
  Result1 any_value_at(std::size_t input);  // in whatever order it is
  Result1 value_of(const Constant& constant, const GraphDefEdge& from);
  Result1 parameter(const Constant& weight);
  Result1 fixed(const Constant& constant, const std::string& name);
  std::vector<Bound> values();                // of the inputs that are values
  bool is_only_use(std::size_t input) const;  // of this node's input: no other node reads it
  void give(const Bound& bound, std::size_t output = 0);
  void give(Constant constant, std::size_t output = 0);
  void give_loss();
  void set(Slot slot, std::size_t output);

  Result<Value> emit(OperatorKind kind, const std::string& name, std::vector<Value> inputs, Attributes attributes = {},
                     OperatorIndex tied_to = {}, bool in_place = false);
  const TensorType& type_of(Value value) const;
  const Shape& shape_of(const Bound& x) const { return type_of(x.value).shape; }
  Dims dims_of(const Bound& x) const;
  Dims file_dims(const Bound& x) const;  // in the order of the file
  Operator& producer(const Bound& x) { return operators_[x.value.op]; }

  Result1 plain(const Bound& x);
  Result1 image(const Bound& x);
  Result1 transposed(const Bound& x, const std::vector<int>& order);
  Result1 reshaped(const Bound& x, const Dims& dims);
  Result1 reshaped_as(const Bound& x, const Dims& dims, BatchPlace place);
  Result1 sliced(const Bound& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step);
  Result1 indexed(const Bound& x, Dims dims);
  Result1 padded(const Bound& x, const Dims& before, const Dims& after);
  Result<std::vector<Bound>> as_other(std::vector<Bound> inputs, std::vector<Dims> outputs, DataType dtype);
  Status give_other(std::vector<Bound> inputs, Dims dims, DataType dtype);
  Status own(const Constant& weight);

  // --- products.cpp
  Status conv(const GraphDefNode& node);
  Status conv_transpose(const GraphDefNode& node);
  Status bias_add(const GraphDefNode& node);
  Status matmul(const GraphDefNode& node);
  Status batch_matmul(const GraphDefNode& node);
  Status gather(const GraphDefNode& node);
  Status lstm_cell(const GraphDefNode& node);
  Status max_pool(const GraphDefNode& node);
  Status avg_pool(const GraphDefNode& node);
  Status pool(const GraphDefNode& node, OperatorKind kind);
  Result<Bound> image_at(const GraphDefNode& node, std::size_t input);
  Result<Window> window_of(const GraphDefNode& node, std::int64_t kernel_h, std::int64_t kernel_w, const Shape& image);
  Result1 linear(const Bound& x, const Constant& weight, bool weight_transposed, bool bias);
  Result1 product(const Bound& a, const Bound& b);
  Result<bool> merge_bias(std::size_t x_input, const Constant& bias);

  // --- elements.cpp
  Status activation(const GraphDefNode& node);
  Status softmax(const GraphDefNode& node);
  Status arithmetic(const GraphDefNode& node);
  Status add_n(const GraphDefNode& node);
  Status scale(const GraphDefNode& node);
  Status scale_by(Bound x);
  Status same_shape(const GraphDefNode& node);
  Status broadcast_shape(const GraphDefNode& node);
  Status batch_norm(const GraphDefNode& node);
  Status mean(const GraphDefNode& node);
  Status sum(const GraphDefNode& node);
  Status reduce(const GraphDefNode& node, OperatorKind kind);
  Status random(const GraphDefNode& node);
  Status cross_entropy(const GraphDefNode& node);
  Status l2_loss(const GraphDefNode& node);
  Status shape(const GraphDefNode& node);
  Status like(const GraphDefNode& node);
  Result1 combined(OperatorKind kind, Bound a, Bound b);
  Result1 parameter_like(const Constant& weight, const Bound& x);

  // --- views.cpp
  Status identity(const GraphDefNode& node);
  Status cast(const GraphDefNode& node);
  Status reshape(const GraphDefNode& node);
  Status transpose(const GraphDefNode& node);
  Status squeeze(const GraphDefNode& node);
  Status expand_dims(const GraphDefNode& node);
  Status concat(const GraphDefNode& node);
  Status pack(const GraphDefNode& node);
  Status unpack(const GraphDefNode& node);
  Status split(const GraphDefNode& node);
  Status pad(const GraphDefNode& node);
  Status slice(const GraphDefNode& node);
  Status strided_slice(const GraphDefNode& node);
  Status tile(const GraphDefNode& node);
  Result1 without_axis(const Bound& x, int axis);
  Result1 with_axis(const Bound& x, int axis);
  Status split_into(const Bound& x, int axis, const Dims& sizes);

  const GraphDefIndex& index_;
  const GraphDefPhases& phases_;
  std::int64_t batch_;
  bool has_batch_ = false;  // set by the first input
  bool has_open_batch_ = false;
  std::vector<bool> wanted_;
  std::vector<bool> trained_;
  std::vector<int> uses_;                 // of a node's outputs, by wanted nodes
  std::vector<std::vector<Slot>> slots_;  // of every output of every node
  std::int32_t current_ = -1;             // the node that is translated
  bool has_loss_ = false;

  Operators operators_;
  OperatorAppender appender_;
  Bound sample_;                                            // an input with the batch in front
  std::unordered_map<std::int64_t, Bound> inputs_;          // by node and output
  std::unordered_map<std::int64_t, Bound> fixed_;           // constants that are operands, likewise
  std::unordered_map<std::int32_t, Bound> parameters_;      // variables that are operands
  std::unordered_map<std::int32_t, OperatorIndex> owners_;  // operators that have a variable as their weight
};

}  // namespace orrery::workload::import
