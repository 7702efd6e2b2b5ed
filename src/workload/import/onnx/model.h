#pragma once
// An ONNX file as data: nodes, tensors by number instead of by name, shapes, and the few small numbers that shapes
// depend on. Weights are never read: of an initializer only dimensions and type are kept.
//
// The reader trusts nothing. Every count and every text is limited (kOnnxLimits), so memory is bounded by those limits
// and by the size of the file's structure, not by its weights.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workload/import/constant.h"
#include "workload/import/wire.h"

namespace orrery::workload::import {

struct OnnxLimits {
  std::size_t nodes = 500'000;
  std::size_t tensors = 2'000'000;      // distinct names
  std::size_t attributes = 2'000'000;   // of all nodes
  std::size_t connections = 8'000'000;  // inputs and outputs of all nodes
  std::size_t list = 4096;              // numbers in one attribute
  std::size_t text = 4096;              // bytes of one name
  std::int64_t first_ir = 3, last_ir = 8;
  std::int64_t first_opset = 7, last_opset = 17;
};
inline constexpr OnnxLimits kOnnxLimits;

using TensorId = std::int32_t;
inline constexpr TensorId kNoTensor = -1;  // an optional input that is left out

struct OnnxAttribute {
  std::string name;
  std::int64_t i = 0;
  double f = 0;
  std::string s;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::optional<Constant> tensor;
  bool has_graph = false;
};

struct OnnxNode {
  std::string name;  // may be empty
  std::string type;  // "Conv"
  std::string domain;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute* find(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  double number(std::string_view attribute, double otherwise) const;
  std::string_view text(std::string_view attribute, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view attribute) const;  // empty if it is missing
};

struct OnnxDimension {
  std::int64_t size = 0;
  std::string symbol;  // not empty: a name instead of a size
  bool known = false;
};

struct OnnxType {
  int element = 0;  // TensorProto.DataType; 0: not given
  std::optional<std::vector<OnnxDimension>> dims;
};

struct OnnxModel {
  std::int64_t opset = 0;
  std::vector<OnnxNode> nodes;
  std::deque<std::string> names;          // of tensors
  std::vector<TensorId> inputs, outputs;  // of the graph; initializers are left out of the inputs
  std::unordered_map<TensorId, Constant> initializers;
  std::unordered_map<TensorId, OnnxType> types;  // of inputs, outputs and all others that the file names

  const std::string& name(TensorId id) const { return names[static_cast<std::size_t>(id)]; }
};

// Reads and checks the structure: versions, references, names given twice. The order of nodes is the file's.
Result<OnnxModel> read_onnx_model(ByteSource& source);

// Sorts nodes so that each comes after those it depends on, keeping the file's order where it is one. A cycle and an
// input that no node makes are errors that name the node.
Status sort_nodes(OnnxModel& model);

// `node 12 "/layer1/conv/Conv" (Conv)`.
std::string describe(const OnnxModel& model, std::size_t node);

// TensorProto.DataType in our terms; nullopt for strings and complex numbers.
std::optional<DataType> element_type(int onnx);

}  // namespace orrery::workload::import
