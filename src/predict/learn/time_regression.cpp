#include "predict/learn/time_regression.h"

#include <algorithm>
#include <cmath>

namespace orrery::predict {

namespace {

constexpr double kRidge = 1e-3;
constexpr double kLogLimit = 5;

double limited(double log_ratio) {
  return std::clamp(log_ratio, -kLogLimit, kLogLimit);
}

}  // namespace

Result<TimeRegression> TimeRegression::fit(const TimeLessons& lessons, const BoostOptions& options) {
  TimeRegression model;
  const std::size_t rows = lessons.times.size();
  if (rows == 0) return model;
  std::vector<double> targets(rows), weights = lessons.weights;
  double weight_sum = 0;
  for (const double weight : weights) weight_sum += weight;
  for (std::size_t i = 0; i < rows; ++i) {
    targets[i] = std::log(lessons.times[i] / lessons.priors[i]);
    weights[i] *= static_cast<double>(rows) / weight_sum;
  }
  std::vector<double> added(rows, 0);
  if (rows >= kRowsMin) {
    ORRERY_TRY(model.ridge_, Ridge::fit(lessons.sizes, targets, weights, {.l2 = kRidge}));
    added = predict_rows(model.ridge_, lessons.sizes);
    for (std::size_t i = 0; i < rows; ++i) targets[i] -= added[i];
    ORRERY_TRY(model.trees_, BoostedTrees::fit(lessons.features, targets, weights, options));
    const std::vector<double> residual = predict_rows(model.trees_, lessons.features);
    for (std::size_t i = 0; i < rows; ++i) added[i] += residual[i];
    model.has_shape_ = true;
  }
  // A row's weight is about its time over a whole it is part of: its predicted share is weight · predicted / time.
  double measured = 0, predicted = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    measured += weights[i];
    predicted += weights[i] * lessons.priors[i] * std::exp(limited(added[i])) / lessons.times[i];
  }
  model.log_factor_ = std::log(measured / predicted);
  model.is_known_ = true;
  return model;
}

double TimeRegression::log_time(double prior, std::span<const float> sizes, std::span<const float> features) const {
  const double added = has_shape_ ? limited(ridge_.predict(sizes) + trees_.predict(features)) : 0;
  return std::log(prior) + added + log_factor_;
}

void TimeRegression::write(ByteWriter& out) const {
  out.u8(is_known_ ? 1 : 0);
  out.u8(has_shape_ ? 1 : 0);
  out.f64(log_factor_);
  if (!has_shape_) return;
  ridge_.write(out);
  trees_.write(out);
}

Result<TimeRegression> TimeRegression::read(ByteReader& in) {
  TimeRegression model;
  ORRERY_TRY(const std::uint8_t known, in.u8());
  ORRERY_TRY(const std::uint8_t shape, in.u8());
  ORRERY_TRY(model.log_factor_, in.f64());
  if (known > 1 || shape > known || !std::isfinite(model.log_factor_)) return Error::invalid("not a time regression");
  model.is_known_ = known == 1;
  model.has_shape_ = shape == 1;
  if (!model.has_shape_) return model;
  ORRERY_TRY(model.ridge_, Ridge::read(in));
  ORRERY_TRY(model.trees_, BoostedTrees::read(in));
  return model;
}

}  // namespace orrery::predict
