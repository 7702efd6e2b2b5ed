#include "workload/import/onnx/fusion.h"

#include <algorithm>

namespace orrery::workload::import {

OnnxUses::OnnxUses(const OnnxModel& model)
    : makers_(model.names.size(), -1),
      users_(model.names.size()),
      is_output_(model.names.size(), false),
      is_constant_(model.names.size(), false) {
  for (const TensorId id : model.outputs) is_output_[static_cast<std::size_t>(id)] = true;
  for (const auto& [id, constant] : model.initializers) is_constant_[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const OnnxNode& node = model.nodes[i];
    bool constant = !node.inputs.empty() || node.type == "Constant";
    for (const TensorId id : node.inputs) {
      if (id == kNoTensor) continue;
      constant = constant && is_constant(id);
      Users& users = users_[static_cast<std::size_t>(id)];
      const auto user = static_cast<std::int32_t>(i);
      const bool is_new = users.count == 0 || users.nodes[users.count - 1] != user;
      if (is_new && users.count < users.nodes.size()) users.nodes[users.count++] = user;
    }
    for (const TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      makers_[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(i);
      is_constant_[static_cast<std::size_t>(id)] = constant;
    }
  }
}

std::int32_t OnnxUses::maker(TensorId id) const {
  return id == kNoTensor ? -1 : makers_[static_cast<std::size_t>(id)];
}

std::int32_t OnnxUses::only_user(TensorId id) const {
  if (id == kNoTensor || is_output(id) || users(id).size() != 1) return -1;
  return users(id)[0];
}

bool OnnxUses::is_constant(TensorId id) const {
  return id != kNoTensor && is_constant_[static_cast<std::size_t>(id)];
}

namespace {

class Finder {
 public:
  Finder(const OnnxModel& model, const OnnxUses& uses) : model_(model), uses_(uses) {
    found_.inside.assign(model.nodes.size(), false);
  }

  Fusions run() {
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const OnnxNode& node = model_.nodes[i];
      if (found_.inside[i] || node.inputs.empty() || node.outputs.empty() || !node.domain.empty()) continue;
      inside_.clear();
      const auto index = static_cast<std::int32_t>(i);
      if (node.type == "ReduceMean") layer_norm(index);
      if (node.type == "Pow") rms_norm(index);
      if (node.type == "Erf") gelu(index);
      if (node.type == "Tanh") gelu_by_tanh(index);
      if (node.type == "Sigmoid") gated(index, OperatorKind::kSilu);
      if (node.type == "HardSigmoid") gated(index, OperatorKind::kHardswish);
      if (node.type == "Clip") hard_swish(index);
      if (node.type == "InstanceNormalization") group_norm(index);
    }
    return std::move(found_);
  }

 private:
  const OnnxNode& node(std::int32_t index) const { return model_.nodes[static_cast<std::size_t>(index)]; }

  TensorId output(std::int32_t index) const { return node(index).outputs.empty() ? kNoTensor : node(index).outputs[0]; }
  TensorId input(std::int32_t index, std::size_t at) const {
    return at < node(index).inputs.size() ? node(index).inputs[at] : kNoTensor;
  }

  // The only user of what `from` makes, if it is of this type; `from` is then inside the pattern. Casts are skipped.
  std::int32_t follow(std::int32_t from, std::string_view type) {
    if (from < 0) return -1;
    inside_.push_back(from);
    std::int32_t user = uses_.only_user(output(from));
    while (user >= 0 && node(user).type == "Cast" && type != "Cast") {
      inside_.push_back(user);
      user = uses_.only_user(output(user));
    }
    return user >= 0 && node(user).type == type ? user : -1;
  }

  // The input of a two-input node that is not made by `from` (or by a Cast of it).
  TensorId other_input(std::int32_t index, TensorId mine) const {
    if (index < 0 || node(index).inputs.size() != 2) return kNoTensor;
    const TensorId a = input(index, 0), b = input(index, 1);
    if (a == mine) return b;
    if (b == mine) return a;
    return uses_.is_constant(a) ? a : uses_.is_constant(b) ? b : kNoTensor;
  }

  // The next node of this type that combines the result of `from` with a constant.
  std::int32_t follow_constant(std::int32_t from, std::string_view type, TensorId* constant = nullptr) {
    const TensorId mine = from < 0 ? kNoTensor : output(from);
    const std::int32_t next = follow(from, type);
    const TensorId other = other_input(next, mine);
    if (next < 0 || !uses_.is_constant(other)) return -1;
    if (constant != nullptr) *constant = other;
    return next;
  }

  // As follow_constant, but takes no step if there is none.
  std::int32_t maybe_constant(std::int32_t from, std::string_view type, TensorId* constant) {
    const std::size_t inside = inside_.size();
    const std::int32_t next = follow_constant(from, type, constant);
    if (next >= 0) return next;
    inside_.resize(inside);
    return from;
  }

  // The node of this type that makes `id`, if only the pattern uses it.
  std::int32_t made_by(TensorId id, std::string_view type) const {
    const std::int32_t index = uses_.maker(id);
    return index >= 0 && node(index).type == type && uses_.only_user(id) >= 0 ? index : -1;
  }

  void take(std::int32_t last, Fused fused) {
    const auto is_taken = [&](std::int32_t index) {
      return found_.inside[static_cast<std::size_t>(index)] || found_.at.contains(index);
    };
    if (is_taken(last) || std::any_of(inside_.begin(), inside_.end(), is_taken)) return;
    for (const std::int32_t index : inside_) {
      if (index != last) found_.inside[static_cast<std::size_t>(index)] = true;
    }
    found_.at.emplace(last, fused);
  }

  // How many trailing dimensions a reduction covers; 0 if they are others.
  int trailing_axes(std::int32_t index, TensorId x) const {
    std::vector<std::int64_t> axes = node(index).integers("axes");
    if (axes.empty() || node(index).integer("keepdims", 1) == 0) return 0;
    const auto type = model_.types.find(x);
    for (std::int64_t& axis : axes) {
      if (axis >= 0 && type != model_.types.end() && type->second.dims) {
        axis -= static_cast<std::int64_t>(type->second.dims->size());
      }
    }
    std::sort(axes.begin(), axes.end());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != static_cast<std::int64_t>(i) - static_cast<std::int64_t>(axes.size())) return 0;
    }
    return static_cast<int>(axes.size());
  }

  // (x − mean) / √(mean((x − mean)²) + ε) · weight + bias.
  void layer_norm(std::int32_t mean) {
    const TensorId x = input(mean, 0);
    const int rank = trailing_axes(mean, x);
    if (rank == 0 || rank > kMaxRank) return;
    const std::int32_t difference = follow(mean, "Sub");
    if (difference < 0 || input(difference, 0) != x) return;
    const TensorId d = output(difference);
    if (d == kNoTensor || uses_.is_output(d) || uses_.users(d).size() != 2) return;
    inside_.push_back(difference);
    std::int32_t square = uses_.users(d)[0];
    if (node(square).type == "Cast") {
      inside_.push_back(square);
      square = uses_.only_user(output(square));
    }
    const std::int32_t divide = uses_.users(d)[1];
    if (square < 0 || (node(square).type != "Pow" && node(square).type != "Mul")) return;
    const std::int32_t variance = follow(square, "ReduceMean");
    if (variance < 0) return;
    const std::int32_t root = follow(follow_constant(variance, "Add"), "Sqrt");
    if (root < 0 || follow(root, "Div") != divide || input(divide, 0) != d) return;
    Fused fused{OperatorKind::kLayerNorm, x, kNoTensor, kNoTensor, rank};
    std::int32_t last = maybe_constant(divide, "Mul", &fused.weight);
    if (last != divide) last = maybe_constant(last, "Add", &fused.bias);
    take(last, fused);
  }

  // x / √(mean(x²) + ε) · weight.
  void rms_norm(std::int32_t square) {
    const TensorId x = input(square, 0);
    const std::int32_t mean = follow(square, "ReduceMean");
    if (mean < 0) return;
    const int rank = trailing_axes(mean, x);
    const std::int32_t root = follow(follow_constant(mean, "Add"), "Sqrt");
    if (rank == 0 || rank > kMaxRank || root < 0) return;
    std::int32_t inverse = follow(root, "Div");
    if (inverse < 0) {
      inside_.pop_back();
      inverse = follow(root, "Reciprocal");
    }
    if (inverse < 0) return;
    std::int32_t scaled = inverse;
    if (input(inverse, 0) != x) {
      scaled = follow(inverse, "Mul");
      if (scaled < 0 || (input(scaled, 0) != x && input(scaled, 1) != x)) return;
    }
    Fused fused{OperatorKind::kRmsNorm, x, kNoTensor, kNoTensor, rank};
    take(maybe_constant(scaled, "Mul", &fused.weight), fused);
  }

  // x · ½ · (1 + erf(x / √2)), multiplied in either order.
  void gelu(std::int32_t erf) {
    const std::int32_t scale =
        made_by(input(erf, 0), "Div") >= 0 ? made_by(input(erf, 0), "Div") : made_by(input(erf, 0), "Mul");
    if (scale < 0) return;
    const TensorId x = uses_.is_constant(input(scale, 1)) ? input(scale, 0) : input(scale, 1);
    inside_.push_back(scale);
    finish_gelu(follow_constant(erf, "Add"), x);
  }

  // The same with tanh(√(2/π) (x + 0.044715 x³)).
  void gelu_by_tanh(std::int32_t tanh) {
    const std::int32_t scale = made_by(input(tanh, 0), "Mul");
    if (scale < 0) return;
    const TensorId sum = uses_.is_constant(input(scale, 0)) ? input(scale, 1) : input(scale, 0);
    const std::int32_t add = made_by(sum, "Add");
    if (add < 0) return;
    for (const std::size_t side : {0U, 1U}) {
      const TensorId x = input(add, side);
      const std::int32_t weighted = made_by(input(add, 1 - side), "Mul");
      if (weighted < 0) continue;
      const TensorId power = uses_.is_constant(input(weighted, 0)) ? input(weighted, 1) : input(weighted, 0);
      const std::int32_t cube = made_by(power, "Pow");
      if (cube < 0 || input(cube, 0) != x) continue;
      inside_.insert(inside_.end(), {scale, add, weighted, cube});
      finish_gelu(follow_constant(tanh, "Add"), x);
      return;
    }
  }

  void finish_gelu(std::int32_t add, TensorId x) {
    const std::int32_t product = follow(add, "Mul");
    if (product < 0) return;
    const TensorId other = input(product, 0) == output(add) ? input(product, 1) : input(product, 0);
    const Fused fused{OperatorKind::kGelu, x};
    if (other == x) {
      const std::int32_t half = follow_constant(product, "Mul");
      if (half >= 0) take(half, fused);
      return;
    }
    const std::int32_t half = made_by(other, "Mul");
    if (half < 0 || (input(half, 0) != x && input(half, 1) != x)) return;
    if (!uses_.is_constant(input(half, 0)) && !uses_.is_constant(input(half, 1))) return;
    inside_.push_back(half);
    take(product, fused);
  }

  // x · gate(x).
  void gated(std::int32_t gate, OperatorKind kind) {
    const TensorId x = input(gate, 0);
    const std::int32_t product = follow(gate, "Mul");
    if (product >= 0 && (input(product, 0) == x || input(product, 1) == x)) take(product, {kind, x});
  }

  // x · clip(x + 3, 0, 6) / 6, in either order.
  void hard_swish(std::int32_t clip) {
    const std::int32_t shift = made_by(input(clip, 0), "Add");
    if (shift < 0) return;
    const TensorId x = uses_.is_constant(input(shift, 1)) ? input(shift, 0) : input(shift, 1);
    inside_.push_back(shift);
    const std::int32_t user = uses_.only_user(output(clip));
    if (user < 0) return;
    if (node(user).type == "Div") {
      const std::int32_t product = follow(follow_constant(clip, "Div"), "Mul");
      if (product >= 0 && (input(product, 0) == x || input(product, 1) == x))
        take(product, {OperatorKind::kHardswish, x});
    } else if (node(user).type == "Mul" && (input(user, 0) == x || input(user, 1) == x)) {
      const std::int32_t sixth = follow_constant(follow(clip, "Mul"), "Div");
      if (sixth >= 0) take(sixth, {OperatorKind::kHardswish, x});
    }
  }

  // Reshape to [batch, groups, rest], normalise, reshape back, · weight + bias.
  void group_norm(std::int32_t norm) {
    const std::int32_t split = made_by(input(norm, 0), "Reshape");
    const std::int32_t back = follow(norm, "Reshape");
    if (split < 0 || back < 0) return;
    Fused fused{OperatorKind::kGroupNorm, input(split, 0)};
    fused.grouped = input(norm, 0);
    std::int32_t last = follow_constant(back, "Mul", &fused.weight);
    if (last < 0) return;
    last = maybe_constant(last, "Add", &fused.bias);
    take(last, fused);
  }

  const OnnxModel& model_;
  const OnnxUses& uses_;
  Fusions found_;
  std::vector<std::int32_t> inside_;
};

}  // namespace

Fusions find_fusions(const OnnxModel& model, const OnnxUses& uses) {
  return Finder(model, uses).run();
}

}  // namespace orrery::workload::import
