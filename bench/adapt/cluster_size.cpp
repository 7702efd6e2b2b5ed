// Samples per second with one to eight members, each with a processor of its own (--pace: a card takes 60 ms at least,
// most of it asleep, so two cores do for all of them; what is measured is coordination, not computing).
//
// Bar: eight members reach 80 % of eight times one with every strategy.

#include <fmt/format.h>

#include "adapt/experiments.h"
#include "base/plot/plots.h"

namespace orrery::bench {

namespace {

constexpr int kSizes[] = {1, 2, 4, 8};
constexpr double kBar = 0.8;

struct Way {
  std::string strategy, period;
  int steps = 0;
};

}  // namespace

Result<bool> cluster_size(const Bench& bench) {
  const Way ways[] = {{"synchronous", "1", 60}, {"local", "16", 6}, {"pair", "16", 6}};
  plot::LinePlot figure{.heading = {.title = "Samples per second by cluster size",
                                    .subtitle = "60 ms of computing per card of 16 images; dashed: times one"},
                        .x = {.title = "members"},
                        .y = {.title = "samples per second", .from_zero = true}};
  bench.say(
      "| strategy | 1 member | 2 | 4 | 8 | of eight times one | bar | |\n|---|---:|---:|---:|---:|---:|---:|---|");
  bool met = true;
  double one = 0;
  for (const Way& way : ways) {
    plot::LineSeries series{.name = way.strategy};
    for (const int size : kSizes) {
      // As many cards for everyone, however many there are.
      ORRERY_TRY(TrainingJob job,
                 TrainingJob::start(
                     bench.env, {"-n", std::to_string(size)}, "lenet",
                     {"--data", "made-up", "--card", "16", "--batch", std::to_string(16 * size), "--pace", "60ms",
                      "--steps", std::to_string(way.steps), "--strategy", way.strategy, "--period", way.period}));
      ORRERY_TRY(const Training training, job.finish(Seconds(300)));
      series.points.push_back({static_cast<double>(size), training.samples_per_s()});
    }
    const auto& points = series.points;
    if (one == 0) one = points.front().y;
    const double share = points.back().y / (kSizes[std::size(kSizes) - 1] * points.front().y);
    met = met && share >= kBar;
    bench.say(fmt::format("| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} % | {:.0f} % | {} |", way.strategy,
                          points[0].y, points[1].y, points[2].y, points[3].y, 100 * share, 100 * kBar,
                          share >= kBar ? "meets" : "misses"));
    figure.series.push_back(std::move(series));
  }
  figure.series.push_back({.name = "times one", .points = {{1, one}, {8, 8 * one}}, .dashed = true});
  ORRERY_TRY_VOID(bench.draw("cluster-size", plot::line_plot(figure)));
  return met;
}

}  // namespace orrery::bench
