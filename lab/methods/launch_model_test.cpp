#include "lab/methods/launch_model.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

using workload::Phase;

constexpr std::int32_t kConv = 1, kRelu = 2, kUpdate = 3;

WorkClass class_of(std::int32_t kind) {
  return kind == kConv ? WorkClass::kConvolution : WorkClass::kElementwise;
}

// A synthetic GPU: a host that needs 40 to 90 microseconds a launch by kind, convolutions at half the peak, the rest at
// 80 % of the bandwidth. The trace is what the launch queue makes of it.
LaunchTrace synthetic(std::int32_t batch, std::int32_t side, int layers) {
  LaunchTrace trace;
  trace.id = std::to_string(batch) + "x" + std::to_string(side) + "x" + std::to_string(layers);
  trace.batch = batch;
  trace.image = side;
  std::vector<QueuedOperator> queue;
  const auto add = [&](std::int32_t kind, Phase phase, std::vector<std::int32_t> parameters) {
    LaunchedOperator op;
    op.kind = kind;
    op.phase = phase;
    op.grid = 100;
    op.block = 128;
    op.parameters = std::move(parameters);
    const LaunchWork work = work_of(op, class_of(kind));
    QueuedOperator queued;
    queued.device = 2 + std::max(2 * work.flops / 8.1e6, work.bytes / (0.8 * 3.2e5));
    queued.hidden = 1;
    queued.interval = kind == kConv ? 90 : kind == kRelu ? 60 : 40;
    queued.launch = 10;
    queued.last_share = 0;
    queue.push_back(queued);
    trace.operators.push_back(std::move(op));
  };
  for (int i = 0; i < layers; ++i) {
    add(kConv, Phase::kForward, {batch, 64, side, side, 64, side, side, 3, 3, 1, 1, 1, 1, 1, 1, 1, 4});
    add(kRelu, Phase::kForward, {4, batch, 64, side, side});
  }
  for (int i = 0; i < layers; ++i) {
    add(kRelu, Phase::kBackward, {4, batch, 64, side, side});
    add(kConv, Phase::kBackward, {batch, 64, side, side, 64, side, side, 3, 3, 1, 1, 1, 1, 1, 1, 1, 4});
  }
  for (int i = 0; i < layers; ++i) add(kUpdate, Phase::kUpdate, {4, 64, 64, 3, 3});
  const QueueTimes times = run_launch_queue(queue);
  trace.first_start = 11;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const double end = i + 1 < queue.size() ? times.starts[i + 1] : times.iteration;
    trace.times.push_back(
        {queue[i].device, end - times.starts[i] - queue[i].device, queue[i].interval, queue[i].launch});
  }
  trace.iteration = times.iteration;
  return trace;
}

std::vector<LaunchTrace> synthetic_set(std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<LaunchTrace> traces;
  for (int i = 0; i < count; ++i) {
    traces.push_back(synthetic(1 << random.below(7), 8 + static_cast<std::int32_t>(random.below(60)),
                               3 + static_cast<int>(random.below(12))));
  }
  return traces;
}

Result<LaunchModel> fit(const std::vector<LaunchTrace>& traces) {
  std::vector<const LaunchTrace*> chosen;
  for (const LaunchTrace& trace : traces) chosen.push_back(&trace);
  LaunchModelOptions options;
  options.trees = 60;
  options.update_share = 1;
  return LaunchModel::fit(chosen, class_of, options);
}

TEST(LaunchModel, PredictsIterationsOfSizesItDidNotSee) {
  const LaunchModel model = fit(synthetic_set(1, 150)).value();
  double error = 0;
  const auto unseen = synthetic_set(2, 40);
  for (LaunchTrace trace : unseen) {
    const double truth = trace.iteration;
    trace.times.clear();  // it must not look
    trace.iteration = 0;
    error += std::abs(model.predict(trace).times.iteration / truth - 1);
  }
  EXPECT_LT(error / static_cast<double>(unseen.size()), 0.05);
}

TEST(LaunchModel, GivesTheSameAnswerForTheSameSeed) {
  const auto traces = synthetic_set(3, 40);
  EXPECT_EQ(fit(traces)->predict(traces[0]).times.iteration, fit(traces)->predict(traces[0]).times.iteration);
}

TEST(LaunchModel, KnowsWhatItDoesNotKnow) {
  const LaunchModel model = fit(synthetic_set(1, 60)).value();
  LaunchTrace known = synthetic(16, 32, 5);
  EXPECT_TRUE(model.predict(known).in_domain());
  for (LaunchedOperator& op : known.operators) {
    if (op.kind == kConv) op.parameters[1] = 77;  // channels never seen
  }
  EXPECT_FALSE(model.predict(known).in_domain());
}

TEST(LaunchModel, CarriesOverWhatWasOddOnAnotherDevice) {
  const auto traces = synthetic_set(1, 100);
  const LaunchModel model = fit(traces).value();
  LaunchTrace odd = synthetic(64, 60, 10);
  for (std::size_t i = 0; i < odd.times.size(); ++i) {
    if (odd.operators[i].kind == kConv) odd.times[i].device *= 2;
  }
  const LaunchResiduals residuals = model.residuals(odd);
  EXPECT_GT(model.predict(odd, &residuals).times.iteration, 1.3 * model.predict(odd).times.iteration);
}

TEST(LaunchModel, NeedsTraces) {
  EXPECT_FALSE(fit({}).has_value());
}

}  // namespace
}  // namespace orrery::lab
