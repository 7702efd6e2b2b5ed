#include "lab/methods/placement_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace orrery::lab {

namespace {

constexpr double kLeastTime = 1e-9;  // seconds

std::vector<double> terms(const PlacementSample& p) {
  const double k = p.replicas, n = p.nodes;
  return {1, p.batch, k > 1 ? 1.0 : 0.0, n > 1 ? 1.0 : 0.0, (k - 1) / k, (n - 1) / n, k - 1, n - 1};
}

std::vector<float> sizes_of(const PlacementSample& p) {
  return {log_size(p.replicas), log_size(p.nodes), log_size(p.fullest), log_size(p.batch)};
}

std::vector<float> features_of(const PlacementSample& p) {
  std::vector<float> values = sizes_of(p);
  const double even = p.replicas / p.nodes;
  for (const double value : {p.replicas, p.nodes, p.fullest, p.batch, even, p.fullest / even}) {
    values.push_back(static_cast<float>(value));
  }
  return values;
}

}  // namespace

Result<PlacementModel> PlacementModel::fit(std::span<const PlacementSample> samples, std::uint64_t seed) {
  if (samples.size() < kSamplesMin) {
    return Error::invalid(fmt::format("{} measured placements; {} are needed", samples.size(), kSamplesMin));
  }
  std::vector<std::vector<double>> columns(terms({}).size());
  std::vector<double> times, weights;
  for (const PlacementSample& sample : samples) {
    if (!(sample.seconds > 0 && sample.replicas >= 1 && sample.nodes >= 1 && sample.batch > 0)) {
      return Error::invalid("a measured placement needs a replica, a node, a batch and a time above 0");
    }
    const std::vector<double> values = terms(sample);
    for (std::size_t i = 0; i < values.size(); ++i) columns[i].push_back(values[i]);
    times.push_back(sample.seconds);
    weights.push_back(1 / sample.seconds);
  }
  Design design;
  for (std::size_t i = 0; i < columns.size(); ++i) design.add(std::to_string(i), std::move(columns[i]));
  PlacementModel model;
  ORRERY_TRY(model.prior_, non_negative_least_squares(design, times, weights));
  TimeLessons lessons({"replicas", "nodes", "fullest", "batch"},
                      {"log_replicas", "log_nodes", "log_fullest", "log_batch", "replicas", "nodes", "fullest", "batch",
                       "even", "uneven"});
  for (const PlacementSample& sample : samples) {
    lessons.sizes.add(sizes_of(sample));
    lessons.features.add(features_of(sample));
    lessons.priors.push_back(model.prior(sample));
    lessons.times.push_back(sample.seconds);
    lessons.weights.push_back(1);
  }
  BoostOptions boost{.trees = 200, .learning_rate = 0.1, .leaves = 12, .min_rows = 4};
  boost.seed = seed;
  boost.threads = 1;
  ORRERY_TRY(model.rest_, TimeRegression::fit(lessons, boost));
  return model;
}

double PlacementModel::prior(const PlacementSample& placement) const {
  const std::vector<double> values = terms(placement);
  double time = 0;
  for (std::size_t i = 0; i < values.size(); ++i) time += prior_.coefficients[i] * values[i];
  return std::max(time, kLeastTime);
}

double PlacementModel::seconds(const PlacementSample& placement) const {
  return std::exp(rest_.log_time(prior(placement), sizes_of(placement), features_of(placement)));
}

}  // namespace orrery::lab
