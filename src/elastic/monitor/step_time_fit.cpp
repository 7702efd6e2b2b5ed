#include "elastic/monitor/step_time_fit.h"

#include <Eigen/Dense>
#include <cmath>
#include <limits>

namespace orrery::elastic {

namespace {

constexpr double kPull = 1e-3;  // of a term's own weight
constexpr std::size_t kTerms = StepTimeFit::kTerms;

std::array<double, kTerms> features_of(double workers, double batch) {
  return {1, batch / workers, workers};
}

// The least squares with only the terms of `subset` (bits), and the objective there; nothing if one is negative.
struct Fitted {
  std::array<double, kTerms> terms{};
  double objective = std::numeric_limits<double>::infinity();
};
Fitted solve(const Eigen::Matrix3d& gram, const Eigen::Vector3d& moment, unsigned subset) {
  std::vector<Eigen::Index> used;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if ((subset >> i & 1U) != 0) used.push_back(static_cast<Eigen::Index>(i));
  }
  const Eigen::MatrixXd part = gram(used, used);
  const Eigen::VectorXd right = moment(used);
  const Eigen::VectorXd solution = part.ldlt().solve(right);
  if (!solution.allFinite() || solution.minCoeff() < 0) return {};
  Fitted fitted;
  for (std::size_t i = 0; i < used.size(); ++i) {
    fitted.terms[static_cast<std::size_t>(used[i])] = solution(static_cast<Eigen::Index>(i));
  }
  fitted.objective = (0.5 * part * solution - right).dot(solution);
  return fitted;
}

}  // namespace

void StepTimeFit::add(double workers, double batch, double time_s) {
  if (!(workers >= 1) || !(batch > 0) || !(time_s > 0) || !std::isfinite(batch) || !std::isfinite(time_s)) return;
  const auto features = features_of(workers, batch);
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j < kTerms; ++j) {
      gram[i][j] = decay * gram[i][j] + features[i] * features[j] / (time_s * time_s);
    }
    moment[i] = decay * moment[i] + features[i] / time_s;
  }
}

std::optional<std::array<double, kTerms>> StepTimeFit::terms() const {
  if (!(moment[0] > 0)) return std::nullopt;
  Eigen::Matrix3d pulled;
  Eigen::Vector3d right;
  for (Eigen::Index i = 0; i < 3; ++i) {
    for (Eigen::Index j = 0; j < 3; ++j) pulled(i, j) = gram[i][j];
    right(i) = moment[i];
  }
  pulled(0, 0) *= 1 + kPull;
  pulled(2, 2) *= 1 + kPull;
  Fitted best;
  for (unsigned subset = 1; subset < (1U << kTerms); ++subset) {
    const Fitted one = solve(pulled, right, subset);
    if (one.objective < best.objective) best = one;
  }
  if (!std::isfinite(best.objective)) return std::nullopt;
  return best.terms;
}

std::optional<double> StepTimeFit::time_s(double workers, double batch) const {
  const auto fitted = terms();
  if (!fitted) return std::nullopt;
  const auto features = features_of(workers, batch);
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += (*fitted)[i] * features[i];
  return sum;
}

}  // namespace orrery::elastic
