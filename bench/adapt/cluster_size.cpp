// Samples per second with one to eight workers, each with a processor of its own (--pace: a micro-batch takes 60 ms at
// least, most of it asleep, so two cores do for all of them; what is measured is coordination, not computing). Beside
// it PyTorch's DistributedDataParallel over Gloo with the same model, batch and pace.
//
// Bar: eight workers reach 80 % of eight times one with every strategy of ours.

#include <fmt/format.h>

#include "adapt/experiments.h"
#include "base/plot/plots.h"

namespace orrery::bench {

namespace {

constexpr int kSizes[] = {1, 2, 4, 8};
constexpr double kBar = 0.8;

struct Way {
  std::string name, strategy, period;
  int steps = 0;
};

constexpr const char* kPace = "60ms";
constexpr double kPace_s = 0.06;

Result<double> samples_per_s(const Bench& bench, const Way& way, int size) {
  // As many micro-batches for everyone, however many there are.
  ORRERY_TRY(TrainingJob job,
             TrainingJob::start(
                 bench.env, {"-n", std::to_string(size)}, "lenet",
                 {"--data", "synthetic", "--micro-batch", "16", "--batch", std::to_string(16 * size), "--pace", kPace,
                  "--steps", std::to_string(way.steps), "--strategy", way.strategy, "--period", way.period}));
  ORRERY_TRY(const Training training, job.finish(Seconds(300)));
  return training.samples_per_s();
}

Result<double> samples_per_s_of_ddp(const Bench& bench, int size) {
  const std::string script = ORRERY_SOURCE "/bench/adapt/paced_ddp.py";
  ORRERY_TRY(auto process, bench.env.processes.spawn({.argv = {"/usr/bin/python3", script, std::to_string(size), "60",
                                                               fmt::format("{}", kPace_s)},
                                                      .environment = {{"OMP_NUM_THREADS", "1"}},
                                                      .output = env::Output::kCapture}));
  ORRERY_TRY(const auto exit, process->wait(Seconds(300)));
  if (!exit || !exit->ok()) return Error::unavailable("paced_ddp.py failed: " + process->standard_error());
  return std::stod(process->standard_output());
}

}  // namespace

Result<bool> cluster_size(const Bench& bench) {
  const Way ways[] = {{"synchronous", "synchronous", "1", 60},
                      {"model averaging", "local", "1", 60},
                      {"local", "local", "16", 6},
                      {"pair", "pair", "16", 6},
                      {"server-async", "server-async", "16", 6},
                      {"DistributedDataParallel, Gloo", "", "", 60}};
  plot::LinePlot figure{.heading = {.title = "Samples per second by cluster size",
                                    .subtitle = "60 ms of computing per micro-batch of 16 images; dashed: times one"},
                        .x = {.title = "workers"},
                        .y = {.title = "samples per second", .from_zero = true}};
  bench.say(
      "| strategy | 1 worker | 2 | 4 | 8 | of eight times one | bar | |\n|---|---:|---:|---:|---:|---:|---:|---|");
  bool met = true;
  double one = 0;
  for (const Way& way : ways) {
    plot::LineSeries series{.name = way.name, .markers = true};
    const bool is_ours = !way.strategy.empty();
    for (const int size : kSizes) {
      ORRERY_TRY(const double rate, is_ours ? samples_per_s(bench, way, size) : samples_per_s_of_ddp(bench, size));
      series.points.push_back({static_cast<double>(size), rate});
    }
    const auto& points = series.points;
    if (one == 0) one = points.front().y;
    const double share = points.back().y / (kSizes[std::size(kSizes) - 1] * points.front().y);
    met = met && (!is_ours || share >= kBar);
    const std::string verdict =
        is_ours ? fmt::format("{:.0f} % | {}", 100 * kBar, share >= kBar ? "meets" : "misses") : " |";
    bench.say(fmt::format("| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} % | {} |", way.name, points[0].y,
                          points[1].y, points[2].y, points[3].y, 100 * share, verdict));
    figure.series.push_back(std::move(series));
  }
  figure.series.push_back({.name = "times one", .points = {{1, one}, {8, 8 * one}}, .dashed = true});
  ORRERY_TRY_VOID(bench.draw("cluster-size", plot::line_plot(figure)));
  return met;
}

}  // namespace orrery::bench
