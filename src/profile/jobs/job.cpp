#include "profile/jobs/job.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "workload/cost.h"

namespace orrery::profile {

namespace {

constexpr ConfigurationLimits kLimits{.flops = Flops(6e9), .bytes = gigabytes(0.8), .operators_max = 700};
constexpr Seconds kExchangeMin(0.05), kExchangeMax(1.0);
constexpr double kGradientsMin = 1e6;  // bytes

Bytes gradients_of(const workload::TrainingRun& run) {
  return Bytes(4.0 * static_cast<double>(run.graph.parameter_count()));
}

void draw_setting(Job& job, Random& random) {
  const std::uint64_t form = random.below(5);  // two of five wait, two do not, one is a ring
  job.form = form == 4 ? DistributedForm::kAllReduce : DistributedForm::kParameterServer;
  job.is_async = form == 2 || form == 3;
  const bool is_ring = job.form == DistributedForm::kAllReduce;
  job.workers = is_ring ? 2 : 1 + static_cast<int>(random.below(2));
  job.servers = is_ring ? 0 : 1 + static_cast<int>(random.below(2));
  constexpr double kRates[] = {25e6, 50e6, 100e6, 200e6};
  job.rate = BytesPerSecond(kRates[random.below(std::size(kRates))]);
}

// Enough for six bursts at least, and for about three seconds.
std::int64_t steps_for(const workload::TrainingRun& run, Seconds exchange) {
  constexpr double kFlopsPerSecond = 20e9, kSeconds = 3;
  Flops flops;
  for (const workload::PhaseStep step : run.graph.execution_order()) {
    flops += operator_cost(run.graph, step, run.cost_options()).flops();
  }
  const double step_s = exchange.value() + flops.value() / kFlopsPerSecond;
  return std::clamp<std::int64_t>(std::llround(kSeconds / step_s), 6, 30);
}

}  // namespace

std::string Job::key() const {
  return fmt::format("{} batch {} {} {} {}/{} {:.0f}", model, batch,
                     form == DistributedForm::kAllReduce ? "allreduce" : "ps", is_async ? "async" : "sync", servers,
                     workers, rate.value());
}

Result<workload::TrainingRun> run_of(const Job& job) {
  return run_of(Configuration{job.family, job.model, job.batch, workload::Optimizer::kSgd});
}

Seconds exchange_time(const Job& job, Bytes gradients) {
  if (job.form == DistributedForm::kAllReduce) {
    return gradients / job.rate * (2.0 * (job.workers - 1) / job.workers);
  }
  const double busiest =
      std::max(1.0, static_cast<double>(job.workers) / job.servers);  // a server's link or a worker's
  return gradients / job.rate * (2 * busiest);
}

Result<Job> draw_job(std::uint64_t seed, std::uint64_t number) {
  constexpr std::uint64_t kMostTries = 500;
  for (std::uint64_t attempt = 0; attempt < kMostTries; ++attempt) {
    Random random = Random(seed).split("jobs").split(number).split(attempt);
    const std::uint64_t drawn = attempt == 0 ? number : random.below(1'000'000);
    const auto configuration = draw_configuration(seed, drawn, kLimits);
    if (!configuration) continue;  // of some families nothing is small enough
    Job job{.family = configuration->family, .model = configuration->model, .batch = configuration->batch};
    draw_setting(job, random);
    ORRERY_TRY(const workload::TrainingRun run, run_of(job));
    const Bytes gradients = gradients_of(run);
    const Seconds exchange = exchange_time(job, gradients);
    if (gradients < Bytes(kGradientsMin) || exchange < kExchangeMin || exchange > kExchangeMax) continue;
    job.steps = steps_for(run, exchange);
    return job;
  }
  return Error::infeasible("no job is within the limits");
}

}  // namespace orrery::profile
