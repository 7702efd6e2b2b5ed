#include "simulate/fitted_scaling.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"

namespace orrery::simulate {

using schedule::JobIndex;

FittedScaling::FittedScaling(const schedule::ClusterView& view, const CurveSpeed& speed, const Workload& workload,
                             const TrialOptions& options)
    : view_(view), speed_(speed), workload_(workload), options_(options), known_(view, speed) {}

FittedScaling::Model& FittedScaling::model_of(JobIndex job) const {
  const std::string& name = workload_.jobs[static_cast<std::size_t>(job)].model;
  const auto [place, is_new] = models_.try_emplace(name.empty() ? fmt::format("\n{}", job) : name);
  if (is_new) make_trials(job, place->second);
  measure(job, place->second);
  return place->second;
}

void FittedScaling::make_trials(JobIndex job, Model& model) const {
  const int most = std::max(1, gpus_max(job));
  Random random = Random(options_.seed).split("trials").split(static_cast<std::uint64_t>(job));
  for (int trial = 0; trial < options_.trials; ++trial) {
    int gpus = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(most)));
    if (trial == 0) gpus = 1;
    if (trial == 1) gpus = most;
    Samples& samples = model.by_gpus[gpus];
    samples.sum += speed_.step_share(gpus) * std::exp(options_.noise * random.normal());
    ++samples.count;
  }
  fit(model);
}

void FittedScaling::measure(JobIndex job, Model& model) const {
  const schedule::JobProgress& progress = view_.progress(job);
  if (!view_.is_running(job) || !(progress.rate > 0) || view_.now() <= progress.resumes_ns) return;
  const int gpus = schedule::gpus_in(progress.allocation);
  int& seen = model.seen[job];
  if (seen == gpus) return;
  seen = gpus;
  // A rate is that of a step on the GPUs asked for over that of a step now.
  Samples& samples = model.by_gpus[gpus];
  samples.sum += speed_.step_share(view_.facts(job).gpus) / progress.rate;
  ++samples.count;
  fit(model);
}

void FittedScaling::fit(Model& model) {
  std::vector<predict::PsSample> samples;
  for (const auto& [gpus, measured] : model.by_gpus) {
    const auto workers = static_cast<double>(gpus);
    samples.push_back({workers, workers, measured.count / measured.sum});
  }
  model.formula.reset();
  if (samples.size() < predict::PsFormula::kSamplesMin) return;
  auto fitted = predict::PsFormula::fit(samples, predict::Synchrony::kSynchronous, predict::BatchRule::kShared);
  if (fitted) model.formula = std::move(*fitted);
}

double FittedScaling::time_on(const Model& model, int gpus) {
  const auto measured = model.by_gpus.find(gpus);
  if (measured != model.by_gpus.end()) return measured->second.sum / measured->second.count;
  const auto workers = static_cast<double>(gpus);
  const double speed = model.formula ? model.formula->speed(workers, workers) : 0;
  if (speed > 0 && std::isfinite(speed)) return 1 / speed;
  // Too little is known: as on the nearest number of GPUs below, or else above.
  auto nearest = model.by_gpus.upper_bound(gpus);
  if (nearest != model.by_gpus.begin()) --nearest;
  return nearest->second.sum / nearest->second.count;
}

double FittedScaling::step_s(JobIndex job, int gpus) const {
  const Model& model = model_of(job);
  return time_on(model, gpus) / time_on(model, view_.facts(job).gpus);
}

}  // namespace orrery::simulate
