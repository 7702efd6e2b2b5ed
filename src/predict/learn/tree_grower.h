#pragma once
// Grows one regression tree at a time on binned rows (see boosted_trees.h for the method).
//
// Histograms of large leaves are summed over a fixed number of blocks of rows, in the order of the blocks, so the
// result does not depend on the number of threads.

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "predict/learn/binning.h"
#include "predict/learn/boosted_trees.h"

namespace orrery::predict {

// Children are indices into the tree and behind their node. A leaf has column −1.
struct GrownNode {
  std::int32_t column = -1;
  std::uint8_t bin = 0;  // at most this bin: left
  float threshold = 0;
  std::uint32_t left = 0, right = 0;
  float value = 0;
};
using GrownTree = std::vector<GrownNode>;

class TreeGrower {
 public:
  // Both must outlive the grower.
  TreeGrower(const BinnedFeatures& features, const BoostOptions& options);

  // The tree number `index` for these gradients; its values, times the learning rate, are added to `predicted`.
  GrownTree grow(std::uint64_t index, std::span<const double> gradient, std::span<const double> hessian,
                 std::span<double> predicted);

 private:
  struct Sums {
    double gradient = 0, hessian = 0, rows = 0;
  };
  using Histogram = std::vector<Sums>;  // chosen columns × kBinsMax

  struct Split {
    double gain = 0;
    std::size_t column = 0;
    std::size_t bin = 0;
    Sums left;
    double left_value = 0, right_value = 0;
  };

  struct Leaf {
    std::size_t node = 0;
    std::size_t begin = 0, end = 0;  // of rows_
    Sums sums;
    double lowest, highest;  // allowed by monotone splits above
    Histogram histogram;
    Split best;
  };

  void sample(std::uint64_t index);
  Histogram histogram_of(std::size_t begin, std::size_t end, std::span<const double> gradient,
                         std::span<const double> hessian) const;
  void add_rows(std::size_t begin, std::size_t end, std::span<const double> gradient, std::span<const double> hessian,
                Histogram& histogram) const;
  double value_of(const Sums& sums, const Leaf& leaf) const;
  double score_of(const Sums& sums, double value) const;
  void find_best(Leaf& leaf) const;
  void consider(Leaf& leaf, std::size_t column, std::size_t bin, const Sums& left) const;
  std::size_t partition(const Leaf& leaf);
  void split_leaf(std::size_t index, GrownTree& tree, std::span<const double> gradient,
                  std::span<const double> hessian);

  const BinnedFeatures& features_;
  const BoostOptions& options_;
  Random random_;
  std::vector<std::uint32_t> rows_;      // in the sample, leaf by leaf
  std::vector<std::uint32_t> left_out_;  // not in the sample
  std::vector<std::uint32_t> columns_;   // in the sample
  std::vector<std::uint32_t> scratch_;
  std::vector<Leaf> leaves_;
};

}  // namespace orrery::predict
