// An hour of spot machines, sixty times faster: between one and four machines are there, and one comes or goes every
// two and a half minutes on average. A machine says two minutes before that it goes, and is then killed whether its
// process has left or not. Made up from a seed, like the price of a spot market: a walk that prefers the middle.
//
// Beside it what a job would commit that stops at every change and starts again from a checkpoint it wrote when it
// was told, with the same samples per second and worker: a model, no measurement. A bare torchrun restarts in 3.6 s
// here (docs/results/benchmarks.md); a minute is what reading a data set and compiling a model add elsewhere.
//
// Bar: no worker has to begin a step again.

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

#include "adapt/experiments.h"
#include "base/plot/plots.h"
#include "base/random.h"
#include "elastic/job/jobs.h"
#include "env/clock.h"

namespace orrery::bench {

namespace {

constexpr double kHour_s = 3600, kFaster = 60, kBetween_s = 150, kPreemptionNotice_s = 120;
constexpr int kMost = 4;
constexpr double kRestarts_s[] = {3.6, 60};
constexpr Seconds kBackoff{20};

struct Change {
  double at_s = 0;  // of the hour
  int machines = 0;
};

std::vector<Change> an_hour(std::uint64_t seed) {
  Random random(seed);
  std::vector<Change> changes = {{0, 3}};
  for (double at = 0;;) {
    at += -std::log(1 - random.uniform()) * kBetween_s;
    if (at >= kHour_s) return changes;
    const int now = changes.back().machines;
    const bool comes = now == 1 || (now < kMost && random.uniform() < 0.5 * (kMost - now + 1) / 2);
    changes.push_back({at, now + (comes ? 1 : -1)});
  }
}

struct Revoked {
  std::int64_t process = 0;
  double killed_at_s = 0;
};

// What the machines of the hour do to a job.
class SpotMarket {
 public:
  SpotMarket(const Bench& bench, const TrainingJob& job) : bench_(bench), job_(job) {}

  Status change_to(int machines, double now_s) {
    ORRERY_TRY(const elastic::JobStatus status, ask({.request = elastic::LauncherRequest::kStatus}));
    std::vector<elastic::ProcessStatus> workers;
    for (const auto& process : status.processes) {
      if (process.state == elastic::ProcessState::kWorker) workers.push_back(process);
    }
    if (machines >= static_cast<int>(workers.size())) {
      ORRERY_TRY_VOID(
          ask({.request = elastic::LauncherRequest::kResize, .size = static_cast<std::uint64_t>(machines)}));
      return {};
    }
    // The oldest machine goes.
    ORRERY_TRY_VOID(ask({.request = elastic::LauncherRequest::kStop, .worker = workers.front().worker}));
    revoked_.push_back({workers.front().process, now_s + kPreemptionNotice_s});
    return {};
  }

  void kill_the_revoked(double now_s) {
    std::erase_if(revoked_, [&](const Revoked& one) {
      if (now_s < one.killed_at_s) return false;
      ::kill(static_cast<pid_t>(one.process), SIGKILL);
      return true;
    });
  }

  Result<elastic::JobStatus> ask(const elastic::AskLauncher& question) const {
    return elastic::ask_launcher(bench_.env, job_.name(), question, kBackoff);
  }

 private:
  const Bench& bench_;
  const TrainingJob& job_;
  std::vector<Revoked> revoked_;
};

// Samples that a job has committed by a time of the hour if every change stops it for `restart_s`.
std::vector<plot::Point> restarting(const std::vector<Change>& changes, double rate_per_worker, double restart_s) {
  std::vector<plot::Point> points = {{0, 0}};
  double samples = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const double until = i + 1 < changes.size() ? changes[i + 1].at_s : kHour_s;
    const double stopped = i == 0 ? 0 : std::min(restart_s, until - changes[i].at_s);
    points.push_back({(changes[i].at_s + stopped) / 60, samples});
    samples += (until - changes[i].at_s - stopped) * rate_per_worker * changes[i].machines;
    points.push_back({until / 60, samples});
  }
  return points;
}

}  // namespace

Result<bool> spot_machines(const Bench& bench) {
  const std::vector<Change> changes = an_hour(1);
  ORRERY_TRY(TrainingJob job, TrainingJob::start(bench.env, {"-n", "3", "--elastic", "1:4", "--standby", "1"}, "lenet",
                                                 {"--data", "synthetic", "--micro-batch", "16", "--batch", "192",
                                                  "--pace", "20ms", "--steps", "1000000"}));
  SpotMarket market(bench, job);
  const auto has_begun = [&] {
    const auto status = market.ask({.request = elastic::LauncherRequest::kStatus});
    return status && status->step > 0;
  };
  while (!has_begun()) bench.env.clock.sleep(Seconds(0.05));
  const Seconds start = bench.env.clock.monotonic();
  const auto now_s = [&] { return kFaster * (bench.env.clock.monotonic() - start).value(); };
  for (std::size_t next = 1; now_s() < kHour_s * bench.scale;) {
    if (!job.runs()) return Error::unavailable("the training has ended too early");
    if (next < changes.size() && now_s() >= changes[next].at_s) {
      ORRERY_TRY_VOID(market.change_to(changes[next].machines, now_s()));
      ++next;
    }
    market.kill_the_revoked(now_s());
    bench.env.clock.sleep(Seconds(0.01));
  }
  ORRERY_TRY_VOID(market.ask({.request = elastic::LauncherRequest::kStop}));
  ORRERY_TRY(const Training training, job.finish(Seconds(60)));

  std::uint64_t repeated = 0;
  plot::LineSeries ours{.name = "measured"};
  double samples = 0, worker_s = 0, before_s = 0;
  for (const LoggedStep& step : training.steps) {
    repeated += step.repeats;
    if (step.repeats > 0) bench.say(fmt::format("step {} begun again, {} workers", step.step, step.workers));
    samples += static_cast<double>(step.samples);
    worker_s += (step.time_s - before_s) * static_cast<double>(step.workers);
    before_s = step.time_s;
    ours.points.push_back({kFaster * step.time_s / 60, samples});
  }
  // Per second of the hour, in which 60 times as many samples are computed as here.
  const double rate = samples / worker_s / kFaster;
  plot::LinePlot figure{
      .heading = {.title = "An hour of spot machines, sixty times faster",
                  .subtitle = fmt::format("{} changes between 1 and 4 machines; dashed: a model of jobs "
                                          "that restart at every change",
                                          changes.size() - 1)},
      .x = {.title = "time", .unit = "min"},
      .y = {.title = "committed samples", .from_zero = true}};
  figure.series.push_back(ours);
  bench.say("| job | committed samples | of ours |\n|---|---:|---:|");
  bench.say(
      fmt::format("| measured, {} changes, {} steps | {:.0f} | |", changes.size() - 1, training.steps.size(), samples));
  for (const double restart_s : kRestarts_s) {
    plot::LineSeries model{.name = fmt::format("restarts in {:g} s", restart_s),
                           .points = restarting(changes, rate, restart_s),
                           .dashed = true};
    const double total = model.points.back().y;
    bench.say(fmt::format("| model: stops at every change, restarts in {:g} s | {:.0f} | {:.1f} % |", restart_s, total,
                          100 * total / samples));
    figure.series.push_back(std::move(model));
  }
  bench.say(fmt::format("\nSteps that some worker had to begin again: {} (bar 0): {}", repeated,
                        repeated == 0 ? "meets" : "misses"));
  ORRERY_TRY_VOID(bench.draw("spot", plot::line_plot(figure)));
  return repeated == 0;
}

}  // namespace orrery::bench
