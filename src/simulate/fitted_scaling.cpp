#include "simulate/fitted_scaling.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "base/random.h"

namespace orrery::simulate {

using schedule::JobIndex;

namespace {

schedule::PsSpeed to_speed(const predict::PsFormula& formula) {
  const std::span<const double> c = formula.coefficients();
  return {.a = c[4], .b = c[0], .c = c[1], .d = c[2], .e = c[3]};
}

}  // namespace

FittedScaling::FittedScaling(const schedule::ClusterView& view, const CurveSpeed& speed, const JobTrace& job_trace,
                             const TrialOptions& options)
    : view_(view), speed_(speed), job_trace_(job_trace), options_(options), known_(view, speed) {}

std::vector<bool> trial_jobs(const JobTrace& job_trace) {
  std::set<std::string_view> known;
  std::vector<bool> result;
  for (const TraceJob& job : job_trace.jobs) result.push_back(job.model.empty() || known.insert(job.model).second);
  return result;
}

FittedScaling::Model& FittedScaling::model_of(JobIndex job) const {
  const std::string& name = job_trace_.jobs[job].model;
  const auto [place, is_new] = models_.try_emplace(name.empty() ? fmt::format("\n{}", job) : name);
  if (is_new) make_trials(job, place->second);
  measure(job, place->second);
  return place->second;
}

void FittedScaling::make_trials(JobIndex job, Model& model) const {
  const auto most = static_cast<std::uint64_t>(std::max(1, gpus_max(job)));
  Random random = Random(options_.seed).split("trials").split(job.place());
  const auto any = [&] { return 1 + static_cast<int>(random.below(most)); };
  for (int trial = 0; trial < options_.trials; ++trial) {
    Tasks tasks;
    tasks.workers = any();
    if (trial == 0) tasks.workers = 1;
    if (trial == 1) tasks.workers = static_cast<int>(most);
    tasks.servers = options_.with_servers && trial > 1 ? any() : tasks.workers;
    Samples& samples = model.by_tasks[tasks];
    const double step = speed_.is_measured(job) && tasks.servers == tasks.workers
                            ? speed_.step_share(job, tasks.workers)
                            : speed_.ps_speed().step_s(tasks.servers, tasks.workers);
    samples.sum += step * std::exp(options_.noise * random.normal());
    ++samples.count;
  }
  fit(model);
}

void FittedScaling::measure(JobIndex job, Model& model) const {
  const schedule::JobProgress& progress = view_.progress(job);
  if (!view_.is_running(job) || !(progress.rate > 0) || view_.now() <= progress.resumes_ns) return;
  const int gpus = schedule::gpus_in(progress.allocation), servers = schedule::servers_in(progress.allocation);
  const Tasks tasks = {gpus, servers > 0 ? servers : gpus};
  Tasks& seen = model.seen[job];
  if (seen == tasks) return;
  seen = tasks;
  // A rate is that of a step on the GPUs asked for over that of a step now.
  Samples& samples = model.by_tasks[tasks];
  samples.sum += speed_.step_share(job, view_.facts(job).gpus) / progress.rate;
  ++samples.count;
  fit(model);
}

void FittedScaling::fit(Model& model) {
  std::vector<predict::PsSample> samples;
  for (const auto& [tasks, measured] : model.by_tasks) {
    samples.push_back(
        {static_cast<double>(tasks.servers), static_cast<double>(tasks.workers), measured.count / measured.sum});
  }
  model.formula.reset();
  if (samples.size() < predict::PsFormula::kSamplesMin) return;
  auto fitted = predict::PsFormula::fit(samples, predict::Synchrony::kSynchronous, predict::BatchRule::kShared);
  if (fitted) model.formula = std::move(*fitted);
}

double FittedScaling::time_on(const Model& model, const Tasks& tasks) {
  const auto measured = model.by_tasks.find(tasks);
  if (measured != model.by_tasks.end()) return measured->second.sum / measured->second.count;
  const double speed = model.formula ? model.formula->speed(tasks.servers, tasks.workers) : 0;
  if (speed > 0 && std::isfinite(speed)) return 1 / speed;
  // Too little is known: as on the nearest number of workers below, or else above.
  auto nearest = model.by_tasks.upper_bound(tasks);
  if (nearest != model.by_tasks.begin()) --nearest;
  return nearest->second.sum / nearest->second.count;
}

double FittedScaling::step_s(JobIndex job, int gpus) const {
  const Model& model = model_of(job);
  const int asked = view_.facts(job).gpus;
  return time_on(model, {gpus, gpus}) / time_on(model, {asked, asked});
}

std::optional<schedule::PsSpeed> FittedScaling::ps_speed(JobIndex job) const {
  const Model& model = model_of(job);
  if (!model.formula) return std::nullopt;
  const int asked = view_.facts(job).gpus;
  return to_speed(*model.formula).times(1 / time_on(model, {asked, asked}));
}

}  // namespace orrery::simulate
