// Four hosts (network namespaces on a bridge), one worker each, that train with synchronous steps at a pace. After
// twenty seconds something else takes the network of one of them (a token bucket, `tc tbf`):
//
//   one link     a cable from the first host to the second: ways around it exist
//   a host       everything the first host sends: it has to send its gradient, so no way is free
//
// Beside each other: the training as it is, and with the policy `interference`, which first lets the workers measure
// anew which ways are fast, and if that does not do averages models every sixteen steps instead of gradients every
// step.
//
// Bar: of the samples per second that were lost, 80 % come back; where ways around exist, with synchronous steps.

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "adapt/experiments.h"
#include "adapt/hosts.h"
#include "base/plot/plots.h"
#include "base/statistics.h"
#include "elastic/policy/proposal.h"
#include "env/clock.h"

namespace orrery::bench {

namespace {

constexpr int kHosts = 4;
constexpr const char* kBucket = "tbf rate 50mbit burst 16kb limit 256kb";
constexpr double kIdle_s = 20, kDisturbed_s = 40, kBin_s = 1, kBar = 0.8;

struct Disturbance {
  std::string name, device, figure;  // device: of the first host
  bool has_way_around = false;
};
const Disturbance kDisturbances[] = {{"one link", "eth1", "interference-link", true},
                                     {"a host", "eth0", "interference-host"}};

Result<Training> train(const Bench& bench, const Disturbance& disturbance, bool adapts) {
  ORRERY_TRY(Hosts hosts, Hosts::start(bench.env, kHosts));
  if (disturbance.has_way_around) ORRERY_TRY_VOID(hosts.connect(0, 1));
  std::vector<std::string> options = {"--data", "synthetic", "--micro-batch", "16",      "--batch",  "64",
                                      "--pace", "60ms",      "--steps",       "1000000", "--period", "16"};
  if (adapts) options.insert(options.end(), {"--policy", "interference"});
  ORRERY_TRY(TrainingJob job,
             TrainingJob::start(
                 bench.env, {"-n", std::to_string(kHosts), "--hosts", hosts.agents(), "--secret-file", hosts.secret()},
                 "lenet", options, hosts.inside(kHosts)));
  bench.env.clock.sleep(Seconds(kIdle_s));
  ORRERY_TRY_VOID(hosts.run(0, fmt::format("tc qdisc add dev {} root {}", disturbance.device, kBucket)));
  bench.env.clock.sleep(Seconds(kDisturbed_s));
  ORRERY_TRY_VOID(job.stop());
  return job.finish(Seconds(120));
}

// Samples per second over time; a round of several steps counts when it ends.
std::vector<plot::Point> rates(const Training& training) {
  std::map<int, double> samples;
  for (const LoggedStep& step : training.steps) {
    samples[static_cast<int>(step.time_s / kBin_s)] += static_cast<double>(step.samples);
  }
  std::vector<plot::Point> points;
  for (const auto& [bin, count] : samples) points.push_back({(bin + 0.5) * kBin_s, count / kBin_s});
  return points;
}

double rate_between(const Training& training, double from_s, double to_s) {
  double samples = 0, first_s = 0, last_s = 0;
  for (const LoggedStep& step : training.steps) {
    if (step.time_s < from_s || step.time_s > to_s) continue;
    if (first_s == 0) {
      first_s = step.time_s;
      continue;
    }
    samples += static_cast<double>(step.samples);
    last_s = step.time_s;
  }
  return last_s > first_s ? samples / (last_s - first_s) : 0;
}

}  // namespace

Result<bool> interference(const Bench& bench) {
  bench.say(
      "| disturbed | before, samples/s | as it is | with the policy | by steps that are | lost comes back | bar | |\n"
      "|---|---:|---:|---:|---|---:|---:|---|");
  bool met = true;
  for (const Disturbance& disturbance : kDisturbances) {
    ORRERY_TRY(const Training as_it_is, train(bench, disturbance, false));
    ORRERY_TRY(const Training adapting, train(bench, disturbance, true));
    // The log begins with the first step, a moment after the job; the end is the last twenty seconds.
    const double end = std::min(as_it_is.steps.back().time_s, adapting.steps.back().time_s);
    const double idle = (rate_between(as_it_is, 2, kIdle_s - 5) + rate_between(adapting, 2, kIdle_s - 5)) / 2;
    const double without = rate_between(as_it_is, end - 20, end), with = rate_between(adapting, end - 20, end);
    const double back = (with - without) / (idle - without);
    const std::string& strategy = adapting.steps.back().strategy;
    const bool is_met = back >= kBar && (strategy == elastic::kSynchronousStrategy || !disturbance.has_way_around);
    met = met && is_met;
    bench.say(fmt::format("| {} | {:.0f} | {:.0f} | {:.0f} | {} | {:.0f} % | {:.0f} % | {} |", disturbance.name, idle,
                          without, with, strategy, 100 * back, 100 * kBar, is_met ? "meets" : "misses"));
    plot::LinePlot figure{.heading = {.title = fmt::format("Something else takes the network of {}", disturbance.name),
                                      .subtitle = "four hosts; 50 Mbit/s are left after twenty seconds"},
                          .x = {.title = "time", .unit = "s"},
                          .y = {.title = "samples per second", .from_zero = true}};
    figure.series = {{.name = "as it is", .points = rates(as_it_is), .dashed = true},
                     {.name = "policy interference", .points = rates(adapting)}};
    ORRERY_TRY_VOID(bench.draw(disturbance.figure, plot::line_plot(figure)));
  }
  return met;
}

}  // namespace orrery::bench
