#include "lab/methods/ps_speed_model.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace orrery::lab {

namespace {

constexpr double kPlane = 1, kShape = 0.3, kOwnShape = 0.1, kNoise = 0.01;

double covariance(double servers, double workers, const PsSample& other, bool is_same_job) {
  const double ps = std::log(servers), pw = std::log(workers);
  const double qs = std::log(other.servers), qw = std::log(other.workers);
  const double same = is_same_job ? 1 : 0;
  const double distance = (ps - qs) * (ps - qs) + (pw - qw) * (pw - qw);
  return kPlane * (1 + same) * (1 + ps * qs + pw * qw) + (kShape + kOwnShape * same) * std::exp(-distance / 2);
}

}  // namespace

Result<PsSpeedModel> PsSpeedModel::fit(std::span<const PsRun> runs) {
  if (runs.empty()) return Error::invalid("no runs to learn speeds from");
  if (runs.size() > kRunsMax) {
    return Error::invalid(fmt::format("{} runs are more than the {} that are learned from", runs.size(), kRunsMax));
  }
  for (const PsRun& run : runs) {
    const PsSample& sample = run.sample;
    if (!(sample.servers >= 1 && sample.workers >= 1 && sample.speed > 0) || !std::isfinite(sample.speed)) {
      return Error::invalid(fmt::format("a run of {} with {} servers and {} workers has speed {}", run.job,
                                        sample.servers, sample.workers, sample.speed));
    }
  }
  PsSpeedModel model;
  model.runs_.assign(runs.begin(), runs.end());
  const auto count = static_cast<Eigen::Index>(runs.size());
  Eigen::VectorXd times(count);
  Eigen::MatrixXd covariances(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const PsRun& one = runs[static_cast<std::size_t>(i)];
    times[i] = -std::log(one.sample.speed);
    for (Eigen::Index j = 0; j <= i; ++j) {
      const PsRun& other = runs[static_cast<std::size_t>(j)];
      covariances(i, j) = covariance(one.sample.servers, one.sample.workers, other.sample, one.job == other.job);
    }
    covariances(i, i) += kNoise;
  }
  model.mean_ = times.mean();
  const Eigen::LLT<Eigen::MatrixXd> factor(covariances.selfadjointView<Eigen::Lower>());
  const Eigen::VectorXd weights = factor.solve(times - Eigen::VectorXd::Constant(count, model.mean_));
  if (factor.info() != Eigen::Success || !weights.allFinite()) return Error::internal("speeds cannot be fitted");
  model.weights_.assign(weights.begin(), weights.end());
  return model;
}

double PsSpeedModel::seconds(const std::string& job, double servers, double workers) const {
  double log_time = mean_;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    log_time += weights_[i] * covariance(servers, workers, runs_[i].sample, runs_[i].job == job);
  }
  return std::exp(log_time);
}

std::vector<std::size_t> spread_trials(std::span<const PsSample> candidates, std::size_t count) {
  if (candidates.empty()) return {};
  double servers = 0, workers = 0;
  for (const PsSample& one : candidates) {
    servers += std::log(one.servers) / static_cast<double>(candidates.size());
    workers += std::log(one.workers) / static_cast<double>(candidates.size());
  }
  PsSample last{std::exp(servers), std::exp(workers)};
  std::vector<double> distances(candidates.size(), std::numeric_limits<double>::infinity());
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(count, candidates.size())) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double distance =
          std::hypot(std::log(candidates[i].servers / last.servers), std::log(candidates[i].workers / last.workers));
      distances[i] = std::min(distances[i], distance);
    }
    const auto farthest = std::max_element(distances.begin(), distances.end());
    chosen.push_back(static_cast<std::size_t>(farthest - distances.begin()));
    last = candidates[chosen.back()];
    if (chosen.size() == 1) std::fill(distances.begin(), distances.end(), std::numeric_limits<double>::infinity());
    distances[chosen.back()] = 0;
  }
  return chosen;
}

}  // namespace orrery::lab
