// Half an hour in which every two seconds a worker is killed, told to leave or added, while policies change batch and
// learning rate. Beside it the same training by three workers whom nobody disturbs. Workers compute at a pace (a
// micro-batch takes 50 ms at least), so that the half hour is one of waiting, not of two overloaded cores.
//
// Bar: as many test images right, within 0.3 points. More than that, the model is the same to the last bit: steps are
// synchronous, and every worker holds what policies decided.

#include <fmt/format.h>

#include "adapt/disturb.h"
#include "adapt/experiments.h"
#include "env/clock.h"

namespace orrery::bench {

namespace {

constexpr double kTime_s = 1800, kPace_s = 0.05, kWorkers = 3, kMicroBatch = 16, kImages = 60'000;
constexpr double kPoints = 0.3;
constexpr Seconds kBetween{2};

}  // namespace

Result<bool> half_an_hour(const Bench& bench) {
  const double micro_batches = bench.scale * kTime_s * kWorkers / kPace_s;
  const std::string epochs = fmt::format("{:.0f}", std::max(1.0, micro_batches * kMicroBatch / kImages));
  std::vector<std::string> train = {"--data", "fashion-mnist", "--micro-batch", "16",       "--batch",
                                    "64",     "--epochs",      epochs,          "--policy", "gns:1024,adascale"};
  ORRERY_TRY(TrainingJob idle_job, TrainingJob::start(bench.env, {"-n", "3"}, "lenet", train));
  ORRERY_TRY(const Training idle, idle_job.finish(Seconds(7200)));

  train.insert(train.end(), {"--pace", fmt::format("{}s", kPace_s)});
  ORRERY_TRY(
      TrainingJob job,
      TrainingJob::start(bench.env, {"-n", "3", "--elastic", "1:5", "--standby", "1", "--max-restarts", "1000000"},
                         "lenet", train));
  Random random(1);
  Events events;
  const Seconds start = bench.env.clock.monotonic();
  while (job.runs()) {
    bench.env.clock.sleep(kBetween);
    disturb(bench.env, job, random, events);
  }
  const double taken_s = (bench.env.clock.monotonic() - start).value();
  ORRERY_TRY(const Training churned, job.finish(Seconds(60)));

  double longest_s = 0;
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < churned.steps.size(); ++i) {
    lost += churned.steps[i].repeats;
    if (i > 0) longest_s = std::max(longest_s, churned.steps[i].time_s - churned.steps[i - 1].time_s);
  }
  bench.say("| training | steps | images | right |\n|---|---:|---:|---:|");
  for (const auto& [name, training] : {std::pair("idle", &idle), std::pair("disturbed", &churned)}) {
    bench.say(fmt::format("| {} | {} | {} | {:.2f} % |", name, training->steps.back().step, training->samples(),
                          100 * training->accuracy));
  }
  const double apart = 100 * std::abs(churned.accuracy - idle.accuracy);
  bench.say(
      fmt::format("\n{:.0f} s: {} killed, {} told to leave, {} resized; {} steps begun in vain by some worker, longest "
                  "time between two steps {:.2f} s",
                  taken_s, events.killed, events.stopped, events.resized, lost, longest_s));
  const bool is_same = !idle.model.empty() && idle.model == churned.model;
  const bool met = apart <= kPoints && is_same;
  bench.say(fmt::format("Apart by {:.2f} points (bar {}), {} model: {}", apart, kPoints,
                        is_same ? "the same" : "another", met ? "meets" : "misses"));
  return met;
}

}  // namespace orrery::bench
