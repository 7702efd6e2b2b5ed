// Fashion-MNIST with four workers, three seeds: fixed batches beside one that grows with the gradient noise scale
// (policies gns and adascale). Fixed batches above the first have the rate that AdaScale would give at most, √ of the
// factor, since a linear one diverges.
//
// Bars: the growing batch is within 0.5 points of the best fixed one, with a quarter of the steps of batch 64.

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "adapt/experiments.h"
#include "base/plot/plots.h"
#include "base/statistics.h"

namespace orrery::bench {

namespace {

constexpr int kSeeds = 3;
constexpr double kEpochs = 12, kFirstBatch = 64, kFirstRate = 0.02;
constexpr double kPoints = 0.5, kSteps = 0.25;  // bars

struct Contender {
  std::string name;
  std::vector<std::string> options;
};

Contender fixed(double batch) {
  const double rate = kFirstRate * std::sqrt(batch / kFirstBatch);
  return {fmt::format("batch {:.0f}", batch),
          {"--batch", fmt::format("{:.0f}", batch), "--learning-rate", fmt::format("{:.6g}", rate)}};
}

struct Outcome {
  std::vector<double> accuracies, steps;
  std::vector<Training> trainings;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Status draw(const Bench& bench, const std::map<std::string, Outcome>& outcomes, const std::string& adaptive) {
  plot::LinePlot noise{.heading = {.title = "Noise scale and batch of an adaptive training",
                                   .subtitle = "LeNet on Fashion-MNIST, four workers, seed 1"},
                       .x = {.title = "images"},
                       .y = {.title = "images", .log = true}};
  plot::LineSeries scale{.name = "gradient noise scale"}, batch{.name = "batch"};
  double samples = 0;
  for (const LoggedStep& step : outcomes.at(adaptive).trainings.front().steps) {
    samples += static_cast<double>(step.samples);
    scale.points.push_back({samples, step.noise_scale});
    batch.points.push_back({samples, static_cast<double>(step.samples)});
  }
  noise.series = {scale, batch};
  ORRERY_TRY_VOID(bench.draw("noise-scale", plot::line_plot(noise)));
  plot::LinePlot learned{.heading = {.title = "Test images that are right, by time",
                                     .subtitle = "mean of three seeds; bands from the worst to the best"},
                         .x = {.title = "time", .unit = "s"},
                         .y = {.title = "share right", .unit = "%"}};
  for (const auto& [name, outcome] : outcomes) {
    plot::LineSeries line{.name = name};
    std::vector<std::vector<std::pair<double, double>>> seeds;
    for (const Training& training : outcome.trainings) {
      seeds.emplace_back();
      for (const LoggedStep& step : training.steps) {
        if (step.accuracy > 0) seeds.back().emplace_back(step.time_s, 100 * step.accuracy);
      }
    }
    for (std::size_t epoch = 0; epoch < seeds.front().size(); ++epoch) {
      std::vector<double> times, shares;
      for (const auto& seed : seeds) {
        if (epoch >= seed.size()) continue;
        times.push_back(seed[epoch].first);
        shares.push_back(seed[epoch].second);
      }
      line.points.push_back({mean(times), mean(shares)});
      line.band.push_back({mean(times), quantile(shares, 0), quantile(shares, 1)});
    }
    learned.series.push_back(line);
  }
  return bench.draw("accuracy-by-time", plot::line_plot(learned));
}

}  // namespace

Result<bool> growing_batch(const Bench& bench) {
  const Contender growing{
      "growing", {"--batch", "64", "--learning-rate", fmt::format("{}", kFirstRate), "--policy", "gns:1024,adascale"}};
  const Contender contenders[] = {fixed(64), fixed(512), fixed(4096), growing};
  const double epochs = std::max(1.0, kEpochs * bench.scale);
  std::map<std::string, Outcome> outcomes;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    for (const Contender& contender : contenders) {
      std::vector<std::string> train = {
          "--data", "fashion-mnist",         "--micro-batch", "16", "--epochs", fmt::format("{:.0f}", epochs),
          "--seed", fmt::format("{}", seed), "--evaluate"};
      train.insert(train.end(), contender.options.begin(), contender.options.end());
      ORRERY_TRY(TrainingJob job, TrainingJob::start(bench.env, {"-n", "4"}, "lenet", train));
      ORRERY_TRY(Training training, job.finish(Seconds(3600)));
      Outcome& outcome = outcomes[contender.name];
      outcome.accuracies.push_back(100 * training.accuracy);
      outcome.steps.push_back(static_cast<double>(training.steps.back().step));
      outcome.trainings.push_back(std::move(training));
    }
  }
  bench.say(fmt::format(
      "| LeNet, Fashion-MNIST, {:.0f} epochs, 4 workers | steps | right, by seed | mean |\n|---|---|---|---:|",
      epochs));
  double best_fixed = 0;
  for (const Contender& contender : contenders) {
    const Outcome& outcome = outcomes[contender.name];
    if (contender.name != growing.name) best_fixed = std::max(best_fixed, mean(outcome.accuracies));
    bench.say(fmt::format("| {} | {:.0f} | {:.2f}, {:.2f}, {:.2f} % | {:.2f} % |", contender.name, mean(outcome.steps),
                          outcome.accuracies[0], outcome.accuracies[1], outcome.accuracies[2],
                          mean(outcome.accuracies)));
  }
  const double behind = best_fixed - mean(outcomes[growing.name].accuracies);
  const double steps = mean(outcomes[growing.name].steps) / mean(outcomes["batch 64"].steps);
  bench.say(fmt::format("\nGrowing: {:.2f} points behind the best fixed batch (bar {}): {}", behind, kPoints,
                        behind <= kPoints ? "meets" : "misses"));
  bench.say(fmt::format("Growing: {:.3f} of the steps of batch 64 (bar {}): {}", steps, kSteps,
                        steps <= kSteps ? "meets" : "misses"));
  ORRERY_TRY_VOID(draw(bench, outcomes, growing.name));
  return behind <= kPoints && steps <= kSteps;
}

}  // namespace orrery::bench
