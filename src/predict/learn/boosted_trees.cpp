#include "predict/learn/boosted_trees.h"

#include <cmath>
#include <fmt/format.h>

#include "predict/learn/tree_grower.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kTreesMax = 100'000;
constexpr std::size_t kNodesMax = 50'000'000;
constexpr std::size_t kColumnsMax = 100'000;
constexpr std::uint32_t kFormat = 0x3154424f;  // "OBT1"
constexpr std::size_t kNodeBytes = 20;

Status check_options(const Features& features, const BoostOptions& options) {
  if (features.rows() == 0) return Error::invalid("no rows to learn from");
  if (features.columns() == 0) return Error::invalid("no columns to learn from");
  if (options.trees < 0 || options.leaves < 2 || options.min_rows < 1 || options.threads < 1) {
    return Error::invalid("trees must be at least 0, leaves 2, min_rows 1 and threads 1");
  }
  const auto is_share = [](double share) { return share > 0 && share <= 1; };
  if (!is_share(options.row_share) || !is_share(options.column_share)) {
    return Error::invalid("row_share and column_share must be above 0 and at most 1");
  }
  if (!(options.l2 >= 0) || !(options.learning_rate > 0)) {
    return Error::invalid("l2 must not be negative and learning_rate must be positive");
  }
  if (!options.monotone.empty() && options.monotone.size() != features.columns()) {
    return Error::invalid(
        fmt::format("monotone has {} entries for {} columns", options.monotone.size(), features.columns()));
  }
  return {};
}

Status check_targets(std::size_t rows, std::span<const double> targets, std::span<const double> weights) {
  if (targets.size() != rows) return Error::invalid(fmt::format("{} targets for {} rows", targets.size(), rows));
  if (!weights.empty() && weights.size() != rows) {
    return Error::invalid(fmt::format("{} weights for {} rows", weights.size(), rows));
  }
  double weight_sum = weights.empty() ? 1 : 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (!std::isfinite(targets[i])) return Error::invalid(fmt::format("row {}: the target is not finite", i));
    if (weights.empty()) continue;
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      return Error::invalid(fmt::format("row {}: the weight is negative or not finite", i));
    }
    weight_sum += weights[i];
  }
  if (!(weight_sum > 0)) return Error::invalid("all weights are 0");
  return {};
}

double weighted_mean(std::span<const double> targets, std::span<const double> weights) {
  double sum = 0;
  double weight_sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    sum += weight * targets[i];
    weight_sum += weight;
  }
  return sum / weight_sum;
}

}  // namespace

// Turns grown trees into nodes.
class BoostedTreesFitter {
 public:
  BoostedTreesFitter(std::size_t columns, double base) {
    model_.columns_ = columns;
    model_.base_ = base;
  }

  void add(const GrownTree& tree) {
    const auto first = static_cast<std::uint32_t>(model_.nodes_.size());
    model_.roots_.push_back(first);
    for (const GrownNode& node : tree) {
      const std::uint32_t offset = node.column < 0 ? 0 : first;
      model_.nodes_.push_back({node.column, node.threshold, node.left + offset, node.right + offset, node.value});
    }
  }

  BoostedTrees take() && { return std::move(model_); }

 private:
  BoostedTrees model_;
};

Result<BoostedTrees> BoostedTrees::fit(const Features& features, const Objective& objective, double base,
                                       const BoostOptions& options) {
  ORRERY_TRY_VOID(check_options(features, options));
  if (!std::isfinite(base)) return Error::invalid("the base score is not finite");
  const BinnedFeatures binned(features);
  TreeGrower grower(binned, options);
  BoostedTreesFitter fitter(features.columns(), base);
  std::vector<double> predicted(features.rows(), base);
  std::vector<double> gradient(features.rows());
  std::vector<double> hessian(features.rows());
  for (int i = 0; i < options.trees; ++i) {
    objective(predicted, gradient, hessian);
    fitter.add(grower.grow(static_cast<std::uint64_t>(i), gradient, hessian, predicted));
  }
  return std::move(fitter).take();
}

Result<BoostedTrees> BoostedTrees::fit(const Features& features, std::span<const double> targets,
                                       std::span<const double> weights, const BoostOptions& options) {
  ORRERY_TRY_VOID(check_options(features, options));
  ORRERY_TRY_VOID(check_targets(features.rows(), targets, weights));
  const Objective squared = [&](std::span<const double> predicted, std::span<double> gradient,
                                std::span<double> hessian) {
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      hessian[i] = weights.empty() ? 1 : weights[i];
      gradient[i] = hessian[i] * (predicted[i] - targets[i]);
    }
  };
  return fit(features, squared, weighted_mean(targets, weights), options);
}

double BoostedTrees::predict(std::span<const float> row) const {
  ORRERY_CHECK(row.size() == columns_);
  double sum = base_;
  for (const std::uint32_t root : roots_) {
    const Node* node = &nodes_[root];
    while (node->column >= 0) {
      const bool right = row[static_cast<std::size_t>(node->column)] > node->threshold;
      node = &nodes_[right ? node->right : node->left];
    }
    sum += static_cast<double>(node->value);
  }
  return sum;
}

std::vector<std::size_t> BoostedTrees::splits_by_column() const {
  std::vector<std::size_t> splits(columns_);
  for (const Node& node : nodes_) {
    if (node.column >= 0) ++splits[static_cast<std::size_t>(node.column)];
  }
  return splits;
}

void BoostedTrees::write(ByteWriter& out) const {
  out.u32(kFormat);
  out.f64(base_);
  out.u32(static_cast<std::uint32_t>(columns_));
  out.u32(static_cast<std::uint32_t>(roots_.size()));
  for (const std::uint32_t root : roots_) out.u32(root);
  out.u32(static_cast<std::uint32_t>(nodes_.size()));
  for (const Node& node : nodes_) {
    out.u32(static_cast<std::uint32_t>(node.column));
    out.f32(node.threshold);
    out.u32(node.left);
    out.u32(node.right);
    out.f32(node.value);
  }
}

Result<BoostedTrees::Node> BoostedTrees::read_node(ByteReader& in, std::size_t index, std::size_t nodes,
                                                   std::size_t columns) {
  Node node;
  ORRERY_TRY(const std::uint32_t column, in.u32());
  node.column = static_cast<std::int32_t>(column);
  ORRERY_TRY(node.threshold, in.f32());
  ORRERY_TRY(node.left, in.u32());
  ORRERY_TRY(node.right, in.u32());
  ORRERY_TRY(node.value, in.f32());
  const bool is_leaf = node.column == -1;
  // Children behind their node: no path is endless.
  const auto is_child = [&](std::uint32_t child) { return child > index && child < nodes; };
  if (!is_leaf && (column >= columns || !is_child(node.left) || !is_child(node.right))) {
    return Error::invalid(fmt::format("node {} of the trees is damaged", index));
  }
  if (!std::isfinite(node.value) || std::isnan(node.threshold)) {
    return Error::invalid(fmt::format("node {} of the trees has a value that is not a number", index));
  }
  return node;
}

Result<BoostedTrees> BoostedTrees::read(ByteReader& in) {
  ORRERY_TRY(const std::uint32_t format, in.u32());
  if (format != kFormat) return Error::invalid("these are not boosted trees of a known format");
  BoostedTrees model;
  ORRERY_TRY(model.base_, in.f64());
  if (!std::isfinite(model.base_)) return Error::invalid("the base score is not finite");
  ORRERY_TRY(model.columns_, in.u32());
  if (model.columns_ == 0 || model.columns_ > kColumnsMax) return Error::invalid("the number of columns is damaged");
  ORRERY_TRY(const std::size_t trees, in.count(4, kTreesMax));
  for (std::size_t i = 0; i < trees; ++i) {
    ORRERY_TRY(const std::uint32_t root, in.u32());
    model.roots_.push_back(root);
  }
  ORRERY_TRY(const std::size_t nodes, in.count(kNodeBytes, kNodesMax));
  for (const std::uint32_t root : model.roots_) {
    if (root >= nodes) return Error::invalid("a tree begins behind the last node");
  }
  model.nodes_.reserve(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    ORRERY_TRY(const Node node, read_node(in, i, nodes, model.columns_));
    model.nodes_.push_back(node);
  }
  return model;
}

}  // namespace orrery::predict
