#pragma once
// GraphBuilder: writes a model as one writes a forward pass.
//
//   GraphBuilder g("lenet");
//   Value x = g.input("image", {1, 1, 28, 28});
//   x = g.relu(g.conv(x, "conv1", {.out = 6, .kernel = 5, .padding = 2}));
//   …
//   return g.finish(g.cross_entropy(x));
//
// Batch is dimension 0 of every input and 1 while building; TrainingGraph::with_batch sets another. Reshapes must
// therefore use -1 or 0 for it. The first mistake is remembered and returned by finish(); every call after it is
// harmless, so models read straight through. Names are dotted by scope and made unique ("relu", "relu_1").

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "workload/graph.h"

namespace orrery::workload {

struct Conv {
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  std::int64_t dilation = 1;
  std::int64_t kernel_w = 0, padding_w = -1, stride_w = 0;  // when they differ from the height's
};

struct Pool {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
  bool ceil_mode = false;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) : name_(std::move(name)) {}

  // While it exists, names get `name.` in front.
  class Scope {
   public:
    Scope(GraphBuilder& builder, const std::string& name);
    ~Scope() { builder_.prefix_.resize(outer_length_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    std::size_t outer_length_;
  };
  [[nodiscard]] Scope scope(const std::string& name) { return Scope(*this, name); }

  // The general form; everything below is shorthand for it.
  Value add(OperatorKind kind, std::string name, std::vector<Value> inputs, Attributes attributes = {},
            bool in_place = false);

  Value input(std::string name, Shape shape, DataType dtype = DataType::kFloat32);
  Value parameter(std::string name, Shape shape);
  Value random_like(Value x);

  Value conv(Value x, std::string name, const Conv& conv);
  Value conv_transpose(Value x, std::string name, const Conv& conv);
  Value linear(Value x, std::string name, std::int64_t out, bool bias = true);
  Value tied_linear(Value x, std::string name, Value embedding, bool bias = false);  // weight of an earlier embedding
  Value matmul(Value a, Value b);
  Value attention(Value q, Value k, Value v, bool causal);
  Value recurrent(OperatorKind kind, Value x, std::string name, const RecurrentAttributes& attributes,
                  std::vector<Value> initial_state = {});
  Value embedding(Value indices, std::string name, std::int64_t rows, std::int64_t columns);
  Value embedding_bag(Value indices, std::string name, std::int64_t rows, std::int64_t columns);

  Value batch_norm(Value x, std::string name);
  Value layer_norm(Value x, std::string name, bool bias = true);
  Value group_norm(Value x, std::string name, std::int64_t groups);
  Value rms_norm(Value x, std::string name);

  // kRelu … kExp. In place only where the framework can really overwrite (not for SiLU, hard swish, GELU, …).
  Value activate(OperatorKind kind, Value x, bool in_place = false);
  Value relu(Value x, bool in_place = true) { return activate(OperatorKind::kRelu, x, in_place); }
  Value softmax(Value x, int axis = -1);
  Value sum_of(Value a, Value b, bool in_place = false);  // a + b
  Value difference(Value a, Value b);
  Value product(Value a, Value b);
  Value scaled(Value x);  // by a number
  Value max_pool(Value x, const Pool& pool);
  Value avg_pool(Value x, const Pool& pool);
  Value adaptive_avg_pool(Value x, std::int64_t height, std::int64_t width);
  Value mean(Value x, std::vector<int> axes, bool keep = false);
  Value sum(Value x, std::vector<int> axes, bool keep = false);

  Value reshape(Value x, std::vector<std::int64_t> dims);  // -1: the remaining elements, 0: as in the input
  Value flatten(Value x);                                  // [batch, everything else]
  Value transpose(Value x, std::vector<int> order);
  Value slice(Value x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
  std::vector<Value> chunk(Value x, std::int64_t pieces, int axis);
  Value expand(Value x, Value batch_of);  // repeats x along dimension 0
  Value contiguous(Value x);
  Value concat(std::vector<Value> inputs, int axis = 1);
  Value pad(Value x, std::vector<std::int64_t> before, std::vector<std::int64_t> after);
  Value roll(Value x);
  Value index(Value x, std::vector<std::int64_t> dims);  // dims of the output, 0 as in the input
  Value dropout(Value x, double rate);                   // a rate of 0 adds nothing
  Value stochastic_depth(Value x, double rate);          // likewise
  Value cross_entropy(Value logits);
  Value mean_squared_error(Value prediction);
  Value binary_cross_entropy(Value logits);

  const Shape& shape(Value x) const;
  std::int64_t dim(Value x, int axis) const;  // 1 after a mistake

  bool failed() const { return error_.has_value(); }
  // Makes finish() fail with this error, unless one was there already.
  void fail(Error error);

  Result<TrainingGraph> finish();

 private:
  std::string unique(std::string name);

  std::string name_;
  std::string prefix_;
  Operators operators_;
  std::unordered_map<std::string, int> used_names_;
  std::optional<Error> error_;
};

}  // namespace orrery::workload
