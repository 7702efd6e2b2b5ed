#include "predict/scaling/ps_speed_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::predict {

namespace {

constexpr double kAround = 0.5;          // logarithms of servers and workers within which runs are alike
constexpr double kDoubt = 0.3;           // runs' worth of "the formula is right"
constexpr std::size_t kLeastRows = 4;    // in a leaf,
constexpr std::size_t kLeafShare = 200;  // and this part of all: rows of one job are much alike

std::vector<float> sizes_of(const PsSample& sample) {
  return {log_size(sample.servers), log_size(sample.workers), log_size(sample.workers / sample.servers)};
}

// How far a job's formula is off near a run, from other runs that are known.
struct Surroundings {
  double nearest = 0;   // logarithm of predicted over measured speed at the nearest run
  double distance = 0;  // to it
  double around = 0;    // the weighted mean
  double weight = 0;    // of what is around
};

Surroundings surroundings_of(const PsJob& job, const PsSample& sample) {
  Surroundings found{.distance = std::numeric_limits<double>::infinity()};
  for (const PsSample& known : job.known) {
    const double distance =
        std::hypot(std::log(known.servers / sample.servers), std::log(known.workers / sample.workers));
    if (distance == 0) continue;
    const double off = std::log(job.formula.speed(known.servers, known.workers) / known.speed);
    const double weight = std::exp(-distance * distance / (2 * kAround * kAround));
    found.around += weight * off;
    found.weight += weight;
    if (distance >= found.distance) continue;
    found.distance = distance;
    found.nearest = off;
  }
  found.around /= found.weight + kDoubt;
  return found;
}

std::vector<float> features_of(const PsJob& job, const PsSample& sample) {
  constexpr double kFarthest = 10;
  const Surroundings near = surroundings_of(job, sample);
  const double growth = job.formula.speed(1, 1) / job.formula.speed(sample.servers, sample.workers);
  return {static_cast<float>(sample.servers),
          static_cast<float>(sample.workers),
          static_cast<float>(sample.workers / sample.servers),
          static_cast<float>(job.kind),
          log_size(growth),
          static_cast<float>(near.nearest),
          static_cast<float>(std::min(near.distance, kFarthest)),
          static_cast<float>(near.around),
          static_cast<float>(near.weight)};
}

double prior_of(const PsJob& job, const PsSample& sample) {
  return 1 / job.formula.speed(sample.servers, sample.workers);
}

}  // namespace

Result<PsJob> PsJob::make(std::vector<PsSample> known, int kind) {
  ORRERY_TRY(PsFormula formula, PsFormula::fit(known, Synchrony::kSynchronous, BatchRule::kPerWorker));
  return PsJob{std::move(formula), std::move(known), kind};
}

PsSpeedModel::PsSpeedModel()
    : lessons_({"servers", "workers", "workers_per_server"},
               {"servers", "workers", "workers_per_server", "kind", "growth", "nearest", "distance", "around",
                "known_around"}) {}

void PsSpeedModel::add(const PsJob& job, const PsSample& sample) {
  lessons_.sizes.add(sizes_of(sample));
  lessons_.features.add(features_of(job, sample));
  lessons_.priors.push_back(prior_of(job, sample));
  lessons_.times.push_back(1 / sample.speed);
  lessons_.weights.push_back(1);
}

Status PsSpeedModel::learn(std::uint64_t seed, int threads) {
  BoostOptions boost{.trees = 200, .learning_rate = 0.05, .leaves = 12};
  boost.min_rows = static_cast<int>(std::max(kLeastRows, lessons_.times.size() / kLeafShare));
  boost.seed = seed;
  boost.threads = threads;
  ORRERY_TRY(regression_, TimeRegression::fit(lessons_, boost));
  return {};
}

double PsSpeedModel::seconds(const PsJob& job, const PsSample& sample) const {
  return std::exp(regression_.log_time(prior_of(job, sample), sizes_of(sample), features_of(job, sample)));
}

}  // namespace orrery::predict
