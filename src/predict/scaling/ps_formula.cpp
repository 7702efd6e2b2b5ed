#include "predict/scaling/ps_formula.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace orrery::predict {

namespace {

constexpr double kLeastTime = 1e-12;  // seconds: what all-zero coefficients would predict

// The left side of the model: what is a sum of terms.
double step_time(const PsSample& sample, Synchrony synchrony) {
  return (synchrony == Synchrony::kSynchronous ? 1 : sample.workers) / sample.speed;
}

}  // namespace

std::vector<double> PsFormula::terms(double servers, double workers) const {
  std::vector<double> values = {1, workers / servers, workers, servers};
  if (synchrony_ == Synchrony::kSynchronous && batch_ == BatchRule::kShared) values.push_back(1 / workers);
  return values;
}

Result<PsFormula> PsFormula::fit(std::span<const PsSample> samples, Synchrony synchrony, BatchRule batch) {
  if (samples.size() < kSamplesMin) {
    return Error::invalid(fmt::format("{} measured speeds; {} are needed", samples.size(), kSamplesMin));
  }
  PsFormula model;
  model.synchrony_ = synchrony;
  model.batch_ = batch;
  std::vector<std::vector<double>> columns(model.terms(1, 1).size());
  std::vector<double> times, weights;
  for (const PsSample& sample : samples) {
    if (!(sample.speed > 0 && sample.servers >= 1 && sample.workers >= 1)) {
      return Error::invalid("a measured speed needs a server, a worker and a speed above 0");
    }
    const std::vector<double> values = model.terms(sample.servers, sample.workers);
    for (std::size_t i = 0; i < values.size(); ++i) columns[i].push_back(values[i]);
    times.push_back(step_time(sample, synchrony));
    weights.push_back(1 / times.back());
  }
  Design design;
  for (std::size_t i = 0; i < columns.size(); ++i) design.add(std::to_string(i), std::move(columns[i]));
  ORRERY_TRY(model.fit_, non_negative_least_squares(design, times, weights));
  return model;
}

double PsFormula::speed(double servers, double workers) const {
  const std::vector<double> values = terms(servers, workers);
  double time = 0;
  for (std::size_t i = 0; i < values.size(); ++i) time += fit_.coefficients[i] * values[i];
  return (synchrony_ == Synchrony::kSynchronous ? 1 : workers) / std::max(time, kLeastTime);
}

Result<std::size_t> PsFormula::next_trial(std::span<const PsSample> samples, std::span<const PsSample> candidates,
                                          Synchrony synchrony, BatchRule batch) {
  std::vector<PsFormula> models;
  for (std::size_t left_out = 0; left_out < samples.size(); ++left_out) {
    std::vector<PsSample> others(samples.begin(), samples.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    ORRERY_TRY(models.emplace_back(), fit(others, synchrony, batch));
  }
  std::size_t best = 0;
  double widest = -1;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const PsFormula& model : models) {
      const double speed = model.speed(candidates[i].servers, candidates[i].workers);
      low = std::min(low, speed);
      high = std::max(high, speed);
    }
    if (const double disagreement = std::log(high / low); disagreement > widest) {
      widest = disagreement;
      best = i;
    }
  }
  return best;
}

}  // namespace orrery::predict
