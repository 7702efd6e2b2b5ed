#pragma once
// Patterns that exporters write as small operators, and the operators they stand for: a layer norm of nine nodes, a
// GELU of five.
//
// A pattern is taken only if no node outside of it uses its intermediate results.

#include <array>
#include <span>
#include <unordered_map>

#include "workload/import/onnx/model.h"
#include "workload/operator.h"

namespace orrery::workload::import {

struct Fused {
  OperatorKind kind = OperatorKind::kLayerNorm;
  TensorId input = kNoTensor;
  TensorId weight = kNoTensor, bias = kNoTensor;  // of a normalisation
  int normalized_rank = 1;
  TensorId grouped = kNoTensor;  // kGroupNorm: a tensor [batch, groups, …]
};

// Which nodes make and use each tensor.
class OnnxUses {
 public:
  explicit OnnxUses(const OnnxModel& model);

  // The node that makes a tensor; -1: it is an input, an initializer or left out.
  std::int32_t maker(TensorId id) const;
  // The one node that uses a tensor; -1 if there is none, or more than one, or it is an output of the graph.
  std::int32_t only_user(TensorId id) const;
  // Whether it follows from initializers alone.
  bool is_constant(TensorId id) const;
  // Distinct nodes that use it, at most three of them.
  std::span<const std::int32_t> users(TensorId id) const {
    const Users& u = users_[static_cast<std::size_t>(id)];
    return {u.nodes.data(), u.count};
  }
  bool is_output(TensorId id) const { return is_output_[static_cast<std::size_t>(id)]; }

 private:
  struct Users {
    std::array<std::int32_t, 3> nodes{};
    std::size_t count = 0;
  };
  std::vector<std::int32_t> makers_;
  std::vector<Users> users_;
  std::vector<bool> is_output_, is_constant_;
};

struct Fusions {
  std::unordered_map<std::int32_t, Fused> at;  // by the node that makes the result
  std::vector<bool> inside;                    // nodes that are part of a pattern and not translated themselves
};

// `model` is sorted.
Fusions find_fusions(const OnnxModel& model, const OnnxUses& uses);

}  // namespace orrery::workload::import
