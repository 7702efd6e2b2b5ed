#include "simulate/generate.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <numbers>

#include "base/random.h"

namespace orrery::simulate {

namespace {

constexpr double kHourS = 3600, kDayS = 86'400;

// How much above its average the rate is at a time of day.
double rate_factor(Arrivals arrivals, double at_s) {
  switch (arrivals) {
    case Arrivals::kPoisson:
      return 1;
    case Arrivals::kDiurnal:
      // Between 0.4 and 1.6, highest at three in the afternoon.
      return 1 + 0.6 * std::cos(2 * std::numbers::pi * (at_s / kDayS - 15.0 / 24));
    case Arrivals::kBursts:
      // The first six minutes of every hour.
      return std::fmod(at_s, kHourS) < kHourS / 10 ? 10 / 1.9 : 1 / 1.9;
  }
  return 1;
}

double highest_factor(Arrivals arrivals) {
  return arrivals == Arrivals::kBursts ? 10 / 1.9 : (arrivals == Arrivals::kDiurnal ? 1.6 : 1);
}

struct Size {
  int gpus;
  double share;  // of jobs with at most this many
};

int draw_gpus(Random& random, std::span<const Size> sizes) {
  const double at = random.uniform();
  for (const Size& size : sizes) {
    if (at < size.share) return size.gpus;
  }
  return sizes.back().gpus;
}

void draw_philly(Random& random, JobFacts& facts) {
  // Shares of the real trace.
  static constexpr Size kSizes[] = {{1, 0.952}, {2, 0.976}, {4, 0.992}, {8, 0.9987}, {16, 1}};
  facts.gpus = draw_gpus(random, kSizes);
  const double seconds = std::clamp(std::exp(6.9 + 2.2 * random.normal()), 10.0, 30 * kDayS);
  facts.work_ns = schedule::from_seconds(seconds);
  facts.gpu_utilisation = random.uniform(0.2, 1.0);
  facts.gpu_memory_share = random.uniform(0.1, 1.0);
}

void draw_optimus(Random& random, TraceJob& job) {
  static constexpr std::string_view kModels[] = {"ResNext-110", "ResNet-50", "Inception-BN", "KAGGLE",     "CNN-rand",
                                                 "DSSM",        "RNN-LSTM",  "Sockeye",      "DeepSpeech2"};
  job.model = kModels[random.below(std::size(kModels))];
  job.facts.gpus = 1 + static_cast<int>(random.below(4));
  job.facts.gpus_max = 16;
  job.facts.work_ns = schedule::from_seconds(std::exp(random.uniform(std::log(20 * 60.0), std::log(2 * kDayS))));
}

void draw_polimi(Random& random, JobFacts& facts) {
  static constexpr Size kSizes[] = {{1, 0.4}, {2, 0.7}, {4, 0.9}, {8, 1}};
  facts.gpus = draw_gpus(random, kSizes);
  const double seconds = random.uniform(0.5, 10) * kDayS;
  facts.work_ns = schedule::from_seconds(seconds);
  facts.deadline_ns = facts.submit_ns + schedule::from_seconds(seconds * random.uniform(1, 3));
  facts.priority = static_cast<double>(1 + random.below(5));
}

}  // namespace

JobTrace generate(const GenerateOptions& options) {
  JobTrace job_trace;
  job_trace.name = "generated";
  for (int t = 0; t < options.tenants; ++t) job_trace.tenants.push_back(fmt::format("tenant-{}", t + 1));
  Random arrivals = Random(options.seed).split("arrivals");
  const double highest = options.rate_per_h * highest_factor(options.arrivals);
  double at = 0;
  while (job_trace.jobs.size() < options.jobs) {
    // Thinning: candidates at the highest rate, kept as often as the rate now is of it.
    at += arrivals.exponential(kHourS / highest);
    const double share = rate_factor(options.arrivals, at) / highest_factor(options.arrivals);
    if (arrivals.uniform() >= share) continue;
    Random random = Random(options.seed).split("jobs").split(job_trace.jobs.size());
    TraceJob& job = job_trace.jobs.emplace_back();
    job.id = fmt::format("job-{}", job_trace.jobs.size());
    job.facts.submit_ns = schedule::from_seconds(at);
    job.facts.tenant = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(options.tenants)));
    if (options.mix == Mix::kPhilly) draw_philly(random, job.facts);
    if (options.mix == Mix::kOptimus) draw_optimus(random, job);
    if (options.mix == Mix::kPolimi) draw_polimi(random, job.facts);
  }
  normalise(job_trace);
  return job_trace;
}

double gpu_seconds(const JobTrace& job_trace) {
  double sum = 0;
  for (const TraceJob& job : job_trace.jobs) sum += schedule::to_seconds(job.facts.work_ns) * job.facts.gpus;
  return sum;
}

JobTrace generate_with_load(GenerateOptions options, double load, int gpus) {
  const double gpu_h = gpu_seconds(generate(options)) / kHourS;
  options.rate_per_h = load * gpus * static_cast<double>(options.jobs) / gpu_h;
  return generate(options);
}

}  // namespace orrery::simulate
