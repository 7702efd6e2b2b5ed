#pragma once
// Learns times that a physical prior gets roughly right:
//
//   log time = log prior + ridge(sizes) + trees(features) + log factor
//
// The ridge term extrapolates to unseen sizes, the trees capture the discrete choice of kernels, and the factor removes
// the bias of the weighted sum of times (means of logarithms would fall short of it). Ridge and trees together are
// limited to a factor of e⁵.

#include <span>

#include "predict/learn/boosted_trees.h"
#include "predict/learn/ridge.h"

namespace orrery::predict {

// Rows to learn from: a prior and a time above 0, and how much a relative error of the row matters.
struct TimeLessons {
  TimeLessons(std::vector<std::string> size_names, std::vector<std::string> feature_names)
      : sizes(std::move(size_names)), features(std::move(feature_names)) {}

  Features sizes, features;
  std::vector<double> priors, times, weights;
};

class TimeRegression {
 public:
  static constexpr std::size_t kRowsMin = 30;

  // With fewer rows than kRowsMin only the factor is learned, with none not even that.
  static Result<TimeRegression> fit(const TimeLessons& lessons, const BoostOptions& options);

  bool is_known() const { return is_known_; }
  double log_time(double prior, std::span<const float> sizes, std::span<const float> features) const;

  // Whether it was learned from rows of this many columns.
  bool takes(std::size_t sizes, std::size_t features) const {
    return !has_shape_ || (ridge_.coefficients().size() == sizes && trees_.columns() == features);
  }

  void write(ByteWriter& out) const;
  static Result<TimeRegression> read(ByteReader& in);

 private:
  bool is_known_ = false;
  bool has_shape_ = false;  // ridge and trees
  Ridge ridge_;
  BoostedTrees trees_;
  double log_factor_ = 0;
};

}  // namespace orrery::predict
