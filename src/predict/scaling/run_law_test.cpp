#include "predict/scaling/run_law.h"

#include <cmath>
#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

constexpr RunForm kSummed{RunTerms::kScale, 1};
constexpr RunForm kOverlapped{RunTerms::kScale, 4};

// 10 s, then per iteration 5 ms, 2 ms per image of a GPU and 20 ms · (n − 1)/n of exchange, beside loading.
MeasuredRun run_of(double batch, double gpus, double threads, double sharpness) {
  MeasuredRun run{.iterations = std::floor(100000 / batch), .batch = batch, .gpus = gpus, .threads = threads};
  const double compute = 0.005 + 0.002 * batch / gpus + 0.02 * (gpus - 1) / gpus;
  const double load = 0.004 * batch / threads;
  run.seconds = 10 + run.iterations * std::pow(std::pow(compute, sharpness) + std::pow(load, sharpness), 1 / sharpness);
  return run;
}

std::vector<MeasuredRun> runs_of(double sharpness) {
  std::vector<MeasuredRun> runs;
  for (const double batch : {16.0, 32.0, 64.0}) {
    for (const double gpus : {1.0, 2.0, 4.0}) {
      for (const double threads : {2.0, 4.0, 8.0}) runs.push_back(run_of(batch, gpus, threads, sharpness));
    }
  }
  return runs;
}

TEST(RunLaw, ReachesBeyondTheMeasuredBatchAndGpus) {
  const RunLaw law = RunLaw::fit(runs_of(1), {}, kSummed).value();
  const MeasuredRun larger = run_of(256, 8, 16, 1);
  EXPECT_NEAR(law.seconds(larger) / larger.seconds, 1, 1e-6);
  EXPECT_GE(law.seconds({.iterations = 100, .batch = 64, .gpus = 2, .threads = 4}),
            law.seconds({.iterations = 100, .batch = 64, .gpus = 4, .threads = 4}));
}

TEST(RunLaw, AnotherDeviceIsReachedThroughItsPeak) {
  // 3 ms on the host, 40 ms · TFLOP/s + 8 ms · TFLOP/s per image on the device.
  const auto on = [](double tera, int host, double batch) {
    return MeasuredRun{.iterations = 1000,
                       .batch = batch,
                       .peak = tera * 1e12,
                       .host = host,
                       .seconds = 1000 * ((host == 0 ? 0.003 : 0.006) + 0.04 / tera + 0.008 * batch / tera)};
  };
  std::vector<MeasuredRun> runs;
  for (const double batch : {4.0, 8.0, 16.0}) {
    runs.push_back(on(1, 0, batch));
    runs.push_back(on(3, 1, batch));
    runs.push_back(on(5, 1, batch));
  }
  const RunLaw law = RunLaw::fit(runs, {}, {RunTerms::kDevice, 1, {.hosts = true}}).value();
  EXPECT_NEAR(law.seconds(on(12, 0, 32)) / on(12, 0, 32).seconds, 1, 1e-6);
}

TEST(RunLaw, MoreModulesTakeLonger) {
  std::vector<MeasuredRun> runs;
  for (const double modules : {1.0, 2.0, 4.0}) {
    for (const double batch : {32.0, 64.0}) {
      runs.push_back({.iterations = 100, .batch = batch, .threads = 4, .modules = modules});
      runs.back().seconds = 100 * (0.01 + 0.001 * batch * modules);
    }
  }
  const RunLaw law = RunLaw::fit(runs, {}, {RunTerms::kModules, 1}).value();
  EXPECT_NEAR(law.seconds({.iterations = 100, .batch = 64, .threads = 4, .modules = 8}), 52.2, 1e-6);
}

TEST(RunLaw, TheFormIsTheOneThatPredictedBest) {
  for (const double sharpness : {1.0, 4.0}) {
    const std::vector<MeasuredRun> runs = runs_of(sharpness);
    const RunSplit split{runs, {}, {run_of(128, 2, 4, sharpness), run_of(256, 4, 2, sharpness)}};
    const std::vector<RunForm> forms = {kSummed, kOverlapped};
    EXPECT_EQ(choose_form(forms, std::vector<RunSplit>{split})->sharpness, sharpness);
    EXPECT_EQ(choose_form(forms, {})->sharpness, 1);
  }
}

TEST(RunLaw, SaysWhatIsWrong) {
  EXPECT_FALSE(RunLaw::fit({}, {}, kSummed));
  EXPECT_FALSE(RunLaw::fit(std::vector<MeasuredRun>{{.iterations = 0, .seconds = 1}}, {}, kSummed));
  EXPECT_EQ(RunLaw::fit(std::vector<MeasuredRun>{{.seconds = 1}}, {}, {RunTerms::kDevice, 1}).error().message(),
            "a run on a GPU whose peak is not known");
}

}  // namespace
}  // namespace orrery::predict
