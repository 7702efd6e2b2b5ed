#pragma once
// Gradient-boosted regression trees on histograms.
//
// Each tree fits the gradient g and hessian h of a loss at the current prediction. A leaf with sums G, H is worth
// −G / (H + l2); a split of it gains
//
//   GL² / (HL + l2) + GR² / (HR + l2) − G² / (H + l2)
//
// over bins of every column, found in one pass over a histogram of the leaf's rows. The leaf with the largest gain is
// split next, until there are `leaves`. The histogram of the larger child is the parent's less the smaller child's.
// Method: Friedman, "Greedy function approximation" (2001); Chen and Guestrin, "XGBoost" (2016), section 3; Ke et al.,
// "LightGBM" (2017), leaf-wise growth. O(rows · columns) per level of a tree.
//
// The same data, options and seed give the same trees whatever the number of threads. NaN goes to the left of every
// split; a column with NaN can be split between NaN and numbers.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "predict/learn/features.h"

namespace orrery::predict {

struct BoostOptions {
  int trees = 300;
  double learning_rate = 0.1;
  int leaves = 31;
  int min_rows = 20;  // in a leaf
  double l2 = 1;
  double row_share = 0.8;     // of the rows each tree sees
  double column_share = 0.8;  // of the columns each tree sees
  std::uint64_t seed = 1;
  int threads = 2;
  std::vector<std::int8_t> monotone{};  // per column: +1 never falls with it, −1 never rises; empty: no demand
};

// Fills gradient and hessian of the loss with respect to the predictions. Hessians must not be negative.
using Objective =
    std::function<void(std::span<const double> predicted, std::span<double> gradient, std::span<double> hessian)>;

class BoostedTrees {
 public:
  // Weighted squared loss. `weights` may be empty: all 1. Targets and weights must be finite, weights not negative.
  static Result<BoostedTrees> fit(const Features& features, std::span<const double> targets,
                                  std::span<const double> weights, const BoostOptions& options);
  // Any loss, from the prediction `base` on.
  static Result<BoostedTrees> fit(const Features& features, const Objective& objective, double base,
                                  const BoostOptions& options);

  // Precondition: as many values as columns were fitted.
  double predict(std::span<const float> row) const;

  std::size_t columns() const { return columns_; }
  std::size_t trees() const { return roots_.size(); }
  // How many splits are on each column: a rough measure of what it is worth.
  std::vector<std::size_t> splits_by_column() const;

  void write(ByteWriter& out) const;
  static Result<BoostedTrees> read(ByteReader& in);

 private:
  friend class BoostedTreesFitter;

  // A leaf has column −1. Children of a node follow it.
  struct Node {
    std::int32_t column = -1;
    float threshold = 0;  // at most this, or NaN: left
    std::uint32_t left = 0, right = 0;
    float value = 0;
  };
  static Result<Node> read_node(ByteReader& in, std::size_t index, std::size_t nodes, std::size_t columns);

  double base_ = 0;
  std::size_t columns_ = 0;
  std::vector<std::uint32_t> roots_;
  std::vector<Node> nodes_;
};

}  // namespace orrery::predict
