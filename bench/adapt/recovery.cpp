// Four workers at a pace; after eight seconds one is killed, after sixteen another, and nobody takes their place before
// its time: what is left goes on at once, with fewer samples per second.
//
// Bar: the longest time between two steps is less than half a second, with three seconds of a restart beside it.

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <map>

#include "adapt/experiments.h"
#include "base/plot/plots.h"
#include "elastic/job/jobs.h"
#include "env/clock.h"

namespace orrery::bench {

namespace {

constexpr double kBetween_s = 8, kBin_s = 0.5, kStandstillMax_s = 0.5;
constexpr int kKills = 2;

Result<elastic::JobStatus> status_of(const Bench& bench, const TrainingJob& job) {
  return elastic::ask_launcher(bench.env, job.name(), {.request = elastic::LauncherRequest::kStatus}, Seconds(20));
}

void wait_for_first_step(const Bench& bench, TrainingJob& job) {
  for (;;) {
    const auto status = status_of(bench, job);
    if ((status && status->step > 0) || !job.runs()) return;
    bench.env.clock.sleep(Seconds(0.05));
  }
}

Status kill_the_first(const Bench& bench, const TrainingJob& job) {
  ORRERY_TRY(const elastic::JobStatus status, status_of(bench, job));
  for (const auto& process : status.processes) {
    if (process.state != elastic::ProcessState::kWorker) continue;
    ::kill(static_cast<pid_t>(process.process), SIGKILL);
    return {};
  }
  return Error::unavailable("no worker to kill");
}

}  // namespace

Result<bool> recovery(const Bench& bench) {
  ORRERY_TRY(TrainingJob job, TrainingJob::start(bench.env, {"-n", "4", "--elastic", "1:4"}, "lenet",
                                                 {"--data", "synthetic", "--micro-batch", "16", "--batch", "192",
                                                  "--pace", "20ms", "--steps", "1000000"}));
  wait_for_first_step(bench, job);
  for (int kill = 0; kill < kKills; ++kill) {
    bench.env.clock.sleep(Seconds(kBetween_s));
    ORRERY_TRY_VOID(kill_the_first(bench, job));
  }
  bench.env.clock.sleep(Seconds(kBetween_s));
  ORRERY_TRY_VOID(job.stop());
  ORRERY_TRY(const Training training, job.finish(Seconds(60)));

  std::map<int, double> steps;
  double longest_s = 0, before_s = 0, usual_s = 0;
  for (const LoggedStep& step : training.steps) {
    steps[static_cast<int>(step.time_s / kBin_s)] += 1;
    longest_s = std::max(longest_s, step.time_s - before_s);
    before_s = step.time_s;
  }
  usual_s = before_s / static_cast<double>(training.steps.size());
  plot::LinePlot figure{.heading = {.title = "Two of four workers are killed",
                                    .subtitle = "kill -9 of the first rank, and eight seconds later of the next"},
                        .x = {.title = "time", .unit = "s"},
                        .y = {.title = "steps per second", .from_zero = true}};
  plot::LineSeries series{.name = "committed"};
  for (const auto& [bin, count] : steps) series.points.push_back({(bin + 0.5) * kBin_s, count / kBin_s});
  figure.series.push_back(std::move(series));
  ORRERY_TRY_VOID(bench.draw("recovery", plot::line_plot(figure)));
  const bool met = longest_s < kStandstillMax_s;
  bench.say(fmt::format("{} steps, {:.0f} ms each on average; at most {:.0f} ms between two (bar {:.0f}): {}",
                        training.steps.size(), 1e3 * usual_s, 1e3 * longest_s, 1e3 * kStandstillMax_s,
                        met ? "meets" : "misses"));
  return met;
}

}  // namespace orrery::bench
