#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "env/sim_files.h"
#include "lab/evaluate/polimi_layers.h"
#include "lab/evaluate/polimi_runs.h"
#include "lab/evaluate/polimi_suite.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

constexpr const char* kHeader =
    "GFlops(7),disk speed(8),GPU number(9),batch size(13),Real Iterations Number(15),CPU threads(19),overall execution "
    "time(31)\n";

TEST(PolimiRuns, AreReadWithTheirGpu) {
  const auto runs = parse_polimi_runs(std::string(kHeader) + "5591,384,2,64,1000,8,512.5\n").value();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].gpu, "K80");
  EXPECT_EQ(runs[0].run.gpus, 2);
  EXPECT_EQ(runs[0].run.batch, 64);
  EXPECT_EQ(runs[0].run.iterations, 1000);
  EXPECT_EQ(runs[0].run.threads, 8);
  EXPECT_EQ(runs[0].run.seconds, 512.5);
  EXPECT_NEAR(runs[0].run.peak, 2.93e12, 0.01e12) << "one half of the board, what Kepler can issue";
  EXPECT_EQ(runs[0].run.host, 1);
}

TEST(PolimiRuns, SayWhatIsWrong) {
  const std::string header = kHeader;
  EXPECT_EQ(parse_polimi_runs(header + "5591,384,2,64,1000,8,0\n").error().message(),
            "line 2: overall execution time(31): expected a number above 0, got \"0\"");
  EXPECT_EQ(parse_polimi_runs(header + "77,384,2,64,1000,8,1\n").error().message(),
            "line 2: GFlops(7): 77 is none of the four boards");
  EXPECT_FALSE(parse_polimi_runs("batch size(13)\n4\n"));
}

RC_GTEST_PROP(PolimiRuns, AnyTextGivesRunsOrAnError, ()) {
  const auto cell = rc::gen::element<std::string>("1195", "0", "-1", "nan", "1e400", "", "x", "4", "\"");
  std::string csv = kHeader;
  for (const auto& row : *rc::gen::container<std::vector<std::vector<std::string>>>(
           rc::gen::container<std::vector<std::string>>(7, cell))) {
    csv += fmt::format("{}\n", fmt::join(row, ","));
  }
  const auto runs = parse_polimi_runs(csv);
  if (!runs) return;
  for (const PolimiRun& run : *runs) RC_ASSERT(run.run.seconds > 0 && std::isfinite(run.run.seconds));
}

MeasuredRun run_of(double batch, double gpus, double peak = 0) {
  return {.iterations = 100, .batch = batch, .gpus = gpus, .threads = 4, .peak = peak, .seconds = 1};
}

TEST(PolimiSplits, TheLargestBatchOfEveryNumberOfGpusIsHeldBackAtOnce) {
  // 3 GPUs have one batch only: nothing to learn from, nothing to ask.
  const std::vector<MeasuredRun> runs = {run_of(8, 1), run_of(16, 1), run_of(16, 2), run_of(32, 2), run_of(8, 3)};
  const auto cells = largest_batch_splits(runs, runs);
  ASSERT_EQ(cells.size(), 2U);
  for (const CellSplit& cell : cells) {
    ASSERT_EQ(cell.split.known.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_LT(cell.split.known[i].batch, cell.split.known[i].gpus == 1 ? 16 : 32);
      EXPECT_EQ(cell.split.weights[i], cell.split.known[i].gpus == cell.gpus ? 1 : 0.3);
    }
    ASSERT_EQ(cell.split.asked.size(), 1U);
    EXPECT_EQ(cell.split.asked[0].batch, cell.gpus == 1 ? 16 : 32);
  }
}

TEST(PolimiSplits, WhatIsAskedElsewhereIsHeldBackHereToo) {
  const std::vector<MeasuredRun> known = {run_of(8, 1), run_of(16, 1), run_of(32, 1)};
  const std::vector<MeasuredRun> asked = {run_of(32, 1)};
  const auto cells = largest_batch_splits(known, asked);
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].split.known.size(), 2U);
}

TEST(PolimiSplits, TheMostGpusNeedTwoOtherNumbers) {
  const std::vector<MeasuredRun> two = {run_of(8, 1), run_of(8, 2)};
  EXPECT_FALSE(most_gpus_split(two, two));
  const std::vector<MeasuredRun> three = {run_of(8, 1), run_of(8, 2), run_of(8, 4), run_of(16, 4)};
  const auto split = most_gpus_split(three, three);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->known.size(), 2U);
  EXPECT_EQ(split->asked.size(), 2U);
  EXPECT_NEAR(split->weights[1], std::sqrt(2), 1e-12);
}

TEST(PolimiSplits, TheFastestGpuIsSeenByNobody) {
  const std::vector<MeasuredRun> runs = {run_of(8, 1, 1), run_of(8, 1, 2), run_of(8, 2, 2), run_of(8, 1, 9)};
  const auto split = fastest_gpu_split(runs, runs);
  ASSERT_TRUE(split);
  for (const MeasuredRun& run : split->known) EXPECT_LT(run.peak, 9);
  ASSERT_EQ(split->asked.size(), 1U);
  EXPECT_EQ(split->asked[0].peak, 9);
  EXPECT_NEAR(split->weights[1], std::sqrt(0.5), 1e-12) << "two runs of one GPU weigh as much as one of the other";
}

TEST(PolimiLayers, ALayerIsTheMedianOfItsReadings) {
  const std::string csv =
      "Layer,Hf,Wf,Cin,Cout,FLOPS,Time\n2,3,3,3,64,86704128,0.08\n2,3,3,3,64,86704128,0.09\n2,3,3,3,64,86704128,5\n";
  const auto layers = parse_board_layers(csv, "odroid").value();
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].layer, "2");
  EXPECT_EQ(layers[0].operations, 86704128);
  EXPECT_EQ(layers[0].seconds, 0.09);
  EXPECT_FALSE(parse_board_layers("Layer,Hf,Wf,Cin,Cout,FLOPS,Time\n2,3,3,3,64,1,0.08\n", "odroid")) << "no position";
}

// A laboratory whose runs follow a law with constants of their own for each network: what is left out is found again.
void write_laboratory(env::SimFiles& files, const std::string& folder) {
  ASSERT_TRUE(files.make_directory(folder));
  constexpr const char* kNetworks[] = {"alexnet_pt", "alexnet_tf", "resnet50_pt",  "resnet50_tf",
                                       "vgg19_pt",   "vgg19_tf",   "deepspeech_tf"};
  for (int network = 0; network < 7; ++network) {
    std::string all = kHeader, power = kHeader;
    for (const auto& [gflops, peak, gpus_max] : {std::tuple(1195, 1.195, 2), std::tuple(5591, 2.93, 4),
                                                 std::tuple(7365, 4.65, 4), std::tuple(11339, 13.04, 8)}) {
      for (int gpus = 1; gpus <= gpus_max; gpus *= 2) {
        for (const int batch : {16, 32, 64}) {
          const int iterations = 100000 / batch;
          const double step = 0.01 + (0.05 + 0.004 * (network + 1) * batch / gpus) / peak;
          const std::string row =
              fmt::format("{},400,{},{},{},4,{}\n", gflops, gpus, batch, iterations, iterations * step);
          all += row;
          if (gpus <= 2) power += row;
        }
      }
    }
    ASSERT_TRUE(files.write_atomically(fmt::format("{}/{}.csv", folder, kNetworks[network]), all));
    ASSERT_TRUE(files.write_atomically(fmt::format("{}/extrapolation_P_{}.csv", folder, kNetworks[network]), power));
  }
  for (const int gpus : {1, 2, 4}) {
    std::string csv = "Network depth(11),batch size(13),Real Iterations Number(15),overall execution time(31)\n";
    for (int depth = 1; depth <= 10; ++depth) {
      for (const int batch : {64, 128}) csv += fmt::format("{},{},1000,{}\n", depth, batch, 100 + 0.1 * depth * batch);
    }
    ASSERT_TRUE(files.write_atomically(fmt::format("{}/extrapolation_N_resnet_{}.csv", folder, gpus), csv));
  }
}

TEST(PolimiSuite, FindsALawAgainWhereItWasNotMeasured) {
  env::SimFiles files;
  write_laboratory(files, "/runs");
  SuiteInput input{.files = files, .now_s = [] { return 0.0; }, .data = "/data", .train = "/runs", .threads = 1};
  const auto report = run_polimi_suite(input);
  ASSERT_TRUE(report) << report.error().to_string();
  for (const char* group : {"batch, AlexNet PyTorch", "GPUs, VGG-19 TensorFlow", "new GPU, ResNet-50 PyTorch",
                            "inner modules above 4, 2 M60"}) {
    const ReportRow* row = report->find(group);
    ASSERT_NE(row, nullptr) << group;
    EXPECT_LT(row->score.mre, 0.02) << group;
    EXPECT_TRUE(row->published) << group;
  }
  // 2 + 3 + 3 + 4 numbers of GPUs of seven networks; three GPUs that came in more than two numbers.
  EXPECT_EQ(report->find("batch, over cells")->score.cases, 84U);
  EXPECT_EQ(report->find("GPUs, over cells")->score.cases, 21U);
  EXPECT_EQ(report->find("new GPU, AlexNet PyTorch")->score.cases, 6U);
  EXPECT_EQ(report->find("new GPU, AlexNet PyTorch")->published, 0.0828);
}

}  // namespace
}  // namespace orrery::lab
