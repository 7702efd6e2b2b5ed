#include "lab/methods/run_law.h"

#include <cmath>
#include <gtest/gtest.h>

#include "lab/lab.h"

namespace orrery::lab {
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

// Two jobs on hosts of two kinds: one waits for the device, the other for its host, 30 ms an example. The first does
// not show whether hosts differ, the second would be far off on a faster device by the form of the first.
TEST(RunLaw, JobsOnTheSameMachinesHaveFormsOfTheirOwn) {
  const auto on = [](double tera, int host, double batch, bool waits_for_host) {
    MeasuredRun run{.iterations = 1000, .batch = batch, .peak = tera * 1e12, .host = host};
    run.seconds = 1000 * ((host == 0 ? 0.003 : 0.006) + (waits_for_host ? 0.03 : 0.008 / tera) * batch);
    return run;
  };
  std::vector<RunSplit> splits(2);
  for (const bool waits : {false, true}) {
    RunSplit& split = splits[waits ? 1 : 0];
    for (const double batch : {4.0, 8.0, 16.0}) {
      for (const int host : {0, 1}) split.known.push_back(on(1, host, batch, waits));
      for (const int host : {0, 1}) split.known.push_back(on(3, host, batch, waits));
      split.asked.push_back(on(5, 1, batch, waits));
    }
  }
  std::vector<std::vector<RunForm>> grid;
  for (const bool hosts : {false, true}) {
    std::vector<RunForm>& row = grid.emplace_back();
    row.push_back({RunTerms::kDevice, 1, {.device = false, .images = true, .hosts = hosts}});
    row.push_back({RunTerms::kDevice, 1, {.hosts = hosts}});
  }
  const FormChoice choice = choose_forms(grid, splits).value();
  ASSERT_EQ(choice.of_split.size(), 2U);
  EXPECT_TRUE(choice.of_split[0].device.device);
  EXPECT_FALSE(choice.of_split[1].device.device);
  EXPECT_TRUE(choice.of_split[0].device.hosts);
  EXPECT_TRUE(choice.of_split[1].device.hosts);
  for (const bool waits : {false, true}) {
    const RunSplit& split = splits[waits ? 1 : 0];
    const RunLaw law = RunLaw::fit(split.known, {}, choice.of_split[waits ? 1 : 0]).value();
    const MeasuredRun faster = on(12, 0, 32, waits);
    EXPECT_NEAR(law.seconds(faster) / faster.seconds, 1, 1e-6);
  }
}

// Errors within one standard error of the best are as good as it: the simpler form, which comes first, is taken.
TEST(RunLaw, OfFormsThatPredictAlikeTheSimplerIsTaken) {
  RunSplit split;
  for (const double batch : {4.0, 8.0, 16.0}) {
    for (const double tera : {1.0, 3.0}) {
      split.known.push_back({.iterations = 1000, .batch = batch, .peak = tera * 1e12});
      split.known.back().seconds = 30 * batch * (tera > 1 ? 0.99 : 1);  // hardly depends on the device
    }
  }
  double batch = 4;
  for (const double scatter : {1.0, 0.8, 0.99, 0.7, 0.98}) {
    split.asked.push_back({.iterations = 1000, .batch = batch, .peak = 5e12, .seconds = 30 * batch * scatter});
    batch *= 1.4;
  }
  const RunForm simple{RunTerms::kDevice, 1, {.device = false, .images = true}};
  const RunForm more{RunTerms::kDevice, 1, {.images = true}};
  const std::vector<std::vector<RunForm>> grid = {{simple, more}};
  EXPECT_TRUE(choose_form(grid[0], std::vector<RunSplit>{split})->device.device);
  EXPECT_FALSE(choose_forms(grid, std::vector<RunSplit>{split})->of_split[0].device.device);
}

TEST(RunLaw, SaysWhatIsWrong) {
  EXPECT_FALSE(RunLaw::fit({}, {}, kSummed));
  EXPECT_FALSE(RunLaw::fit(std::vector<MeasuredRun>{{.iterations = 0, .seconds = 1}}, {}, kSummed));
  EXPECT_EQ(RunLaw::fit(std::vector<MeasuredRun>{{.seconds = 1}}, {}, {RunTerms::kDevice, 1}).error().message(),
            "a run on a GPU whose peak is not known");
}

}  // namespace
}  // namespace orrery::lab
