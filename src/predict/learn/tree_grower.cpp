#include "predict/learn/tree_grower.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kRowsPerBlockMin = 8192;
constexpr std::size_t kBlocksMax = 8;
constexpr double kSmallestGain = 1e-12;
constexpr double kSmallestHessian = 1e-12;

}  // namespace

TreeGrower::TreeGrower(const BinnedFeatures& features, const BoostOptions& options)
    : features_(features), options_(options), random_(options.seed) {}

void TreeGrower::sample(std::uint64_t index) {
  Random random = random_.split(index);
  rows_.clear();
  left_out_.clear();
  for (std::uint32_t row = 0; row < features_.rows(); ++row) {
    const bool taken = options_.row_share >= 1 || random.uniform() < options_.row_share;
    (taken ? rows_ : left_out_).push_back(row);
  }
  if (rows_.empty()) std::swap(rows_, left_out_);
  std::vector<std::uint32_t> all;
  for (std::uint32_t column = 0; column < features_.columns(); ++column) {
    if (features_.bin_count(column) > 1) all.push_back(column);
  }
  const double share = options_.column_share * static_cast<double>(all.size());
  const auto wanted = std::min(all.size(), std::max<std::size_t>(1, static_cast<std::size_t>(share + 0.5)));
  for (std::size_t i = 0; i < wanted; ++i) std::swap(all[i], all[i + random.below(all.size() - i)]);
  all.resize(wanted);
  std::sort(all.begin(), all.end());
  columns_ = std::move(all);
  scratch_.resize(rows_.size());
}

void TreeGrower::add_rows(std::size_t begin, std::size_t end, std::span<const double> gradient,
                          std::span<const double> hessian, Histogram& histogram) const {
  const std::size_t columns = columns_.size();
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t row = rows_[i];
    const std::uint8_t* bins = features_.row(row);
    const double g = gradient[row];
    const double h = hessian[row];
    Sums* sums = histogram.data();
    for (std::size_t c = 0; c < columns; ++c, sums += kBinsMax) {
      Sums& bin = sums[bins[columns_[c]]];
      bin.gradient += g;
      bin.hessian += h;
      bin.rows += 1;
    }
  }
}

TreeGrower::Histogram TreeGrower::histogram_of(std::size_t begin, std::size_t end, std::span<const double> gradient,
                                               std::span<const double> hessian) const {
  const std::size_t rows = end - begin;
  const std::size_t blocks = std::clamp<std::size_t>(rows / kRowsPerBlockMin, 1, kBlocksMax);
  std::vector<Histogram> parts(blocks);
  run_parallel(blocks, options_.threads, [&](std::size_t block) {
    parts[block].resize(columns_.size() * kBinsMax);
    add_rows(begin + rows * block / blocks, begin + rows * (block + 1) / blocks, gradient, hessian, parts[block]);
  });
  for (std::size_t block = 1; block < blocks; ++block) {
    for (std::size_t i = 0; i < parts[0].size(); ++i) {
      parts[0][i].gradient += parts[block][i].gradient;
      parts[0][i].hessian += parts[block][i].hessian;
      parts[0][i].rows += parts[block][i].rows;
    }
  }
  return std::move(parts[0]);
}

double TreeGrower::value_of(const Sums& sums, const Leaf& leaf) const {
  const double value = -sums.gradient / std::max(sums.hessian + options_.l2, kSmallestHessian);
  return std::clamp(value, leaf.lowest, leaf.highest);
}

// Twice the fall of the loss when the rows get this value; G² / (H + l2) for the best one.
double TreeGrower::score_of(const Sums& sums, double value) const {
  return -(2 * sums.gradient * value + (sums.hessian + options_.l2) * value * value);
}

void TreeGrower::consider(Leaf& leaf, std::size_t column, std::size_t bin, const Sums& left) const {
  const Sums right{leaf.sums.gradient - left.gradient, leaf.sums.hessian - left.hessian, leaf.sums.rows - left.rows};
  if (left.rows < options_.min_rows || right.rows < options_.min_rows) return;
  if (left.hessian < kSmallestHessian || right.hessian < kSmallestHessian) return;
  const double left_value = value_of(left, leaf);
  const double right_value = value_of(right, leaf);
  if (!options_.monotone.empty() && options_.monotone[column] * (right_value - left_value) < 0) return;
  const double gain =
      score_of(left, left_value) + score_of(right, right_value) - score_of(leaf.sums, value_of(leaf.sums, leaf));
  if (gain > leaf.best.gain) leaf.best = {gain, column, bin, left, left_value, right_value};
}

void TreeGrower::find_best(Leaf& leaf) const {
  leaf.best = {};
  leaf.best.gain = kSmallestGain;
  if (leaf.sums.rows < 2 * options_.min_rows) return;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Sums* bins = leaf.histogram.data() + c * kBinsMax;
    Sums left;
    for (std::size_t bin = 0; bin + 1 < features_.bin_count(columns_[c]); ++bin) {
      if (bins[bin].rows == 0) continue;
      left.gradient += bins[bin].gradient;
      left.hessian += bins[bin].hessian;
      left.rows += bins[bin].rows;
      consider(leaf, columns_[c], bin, left);
    }
  }
}

// Moves the rows of the left child before those of the right, keeping their order; returns where the right begins.
std::size_t TreeGrower::partition(const Leaf& leaf) {
  const std::size_t column = leaf.best.column;
  std::size_t left_end = leaf.begin;
  std::size_t right_count = 0;
  for (std::size_t i = leaf.begin; i < leaf.end; ++i) {
    const std::uint32_t row = rows_[i];
    if (features_.row(row)[column] <= leaf.best.bin)
      rows_[left_end++] = row;
    else
      scratch_[right_count++] = row;
  }
  std::copy_n(scratch_.begin(), right_count, rows_.begin() + static_cast<std::ptrdiff_t>(left_end));
  return left_end;
}

void TreeGrower::split_leaf(std::size_t index, GrownTree& tree, std::span<const double> gradient,
                            std::span<const double> hessian) {
  Leaf parent = std::move(leaves_[index]);
  const Split& best = parent.best;
  const std::size_t middle = partition(parent);
  Leaf left{tree.size(), parent.begin, middle, best.left, parent.lowest, parent.highest, {}, {}};
  const Sums right_sums{parent.sums.gradient - best.left.gradient, parent.sums.hessian - best.left.hessian,
                        parent.sums.rows - best.left.rows};
  Leaf right{tree.size() + 1, middle, parent.end, right_sums, parent.lowest, parent.highest, {}, {}};
  if (!options_.monotone.empty() && options_.monotone[best.column] != 0) {
    const double between = (best.left_value + best.right_value) / 2;
    const bool rises = options_.monotone[best.column] > 0;
    (rises ? left : right).highest = between;
    (rises ? right : left).lowest = between;
  }
  GrownNode& node = tree[parent.node];
  node.column = static_cast<std::int32_t>(best.column);
  node.bin = static_cast<std::uint8_t>(best.bin);
  node.threshold = features_.edge(best.column, best.bin);
  node.left = static_cast<std::uint32_t>(left.node);
  node.right = static_cast<std::uint32_t>(right.node);
  tree.resize(tree.size() + 2);

  Leaf& smaller = left.sums.rows <= right.sums.rows ? left : right;
  Leaf& larger = &smaller == &left ? right : left;
  if (larger.sums.rows >= 2 * options_.min_rows) {
    smaller.histogram = histogram_of(smaller.begin, smaller.end, gradient, hessian);
    larger.histogram = std::move(parent.histogram);
    for (std::size_t i = 0; i < larger.histogram.size(); ++i) {
      larger.histogram[i].gradient -= smaller.histogram[i].gradient;
      larger.histogram[i].hessian -= smaller.histogram[i].hessian;
      larger.histogram[i].rows -= smaller.histogram[i].rows;
    }
  }
  find_best(left);
  find_best(right);
  leaves_[index] = std::move(left);
  leaves_.push_back(std::move(right));
}

GrownTree TreeGrower::grow(std::uint64_t index, std::span<const double> gradient, std::span<const double> hessian,
                           std::span<double> predicted) {
  sample(index);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Leaf root{0, 0, rows_.size(), {}, -kInfinity, kInfinity, {}, {}};
  for (const std::uint32_t row : rows_) {
    root.sums.gradient += gradient[row];
    root.sums.hessian += hessian[row];
  }
  root.sums.rows = static_cast<double>(rows_.size());
  root.histogram = histogram_of(0, rows_.size(), gradient, hessian);
  find_best(root);
  leaves_.clear();
  leaves_.push_back(std::move(root));
  GrownTree tree(1);
  while (leaves_.size() < static_cast<std::size_t>(options_.leaves)) {
    const auto next = std::max_element(leaves_.begin(), leaves_.end(),
                                       [](const Leaf& a, const Leaf& b) { return a.best.gain < b.best.gain; });
    if (next->best.gain <= kSmallestGain) break;
    split_leaf(static_cast<std::size_t>(next - leaves_.begin()), tree, gradient, hessian);
  }
  for (const Leaf& leaf : leaves_) {
    tree[leaf.node].value = static_cast<float>(options_.learning_rate * value_of(leaf.sums, leaf));
    for (std::size_t i = leaf.begin; i < leaf.end; ++i) {
      predicted[rows_[i]] += static_cast<double>(tree[leaf.node].value);
    }
  }
  for (const std::uint32_t row : left_out_) {
    const std::uint8_t* bins = features_.row(row);
    std::size_t at = 0;
    while (tree[at].column >= 0) {
      at = bins[tree[at].column] <= tree[at].bin ? tree[at].left : tree[at].right;
    }
    predicted[row] += static_cast<double>(tree[at].value);
  }
  return tree;
}

}  // namespace orrery::predict
