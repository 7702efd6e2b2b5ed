#include "lab/evaluate/driple_suite.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "env/sim_files.h"
#include "lab/evaluate/driple_ablations_suite.h"
#include "lab/evaluate/own_graph_runs.h"
#include "lab/evaluate/resource_models.h"
#include "lab/lab.h"
#include "profile/dataset/dataset_file.h"

namespace orrery::lab {
namespace {

constexpr const char* kHeader =
    "Filename,Activations-Params,Batch Size,Max GPU Memory (MiB),Avg GPUTL,Avg GRACT,Avg SMACT,Avg SMOCC,Avg FP32A\n";

// Two linear layers; memory follows from the parameters, everything else from the work, with 2 % of noise.
std::string synthetic(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::string csv = kHeader;
  for (std::size_t i = 0; i < count; ++i) {
    const double width = std::floor(std::exp2(random.uniform(6, 11))), batch = std::floor(random.uniform(1, 500));
    const double parameters = 2 * width * (width + 1);
    const double activity = (1 + 0.02 * random.normal()) / (1 + 1e8 / (batch * parameters));
    const double memory = (1000 + 1e-5 * parameters) * (1 + 0.02 * random.normal());
    csv += fmt::format("run{}-{},\"[('linear', {}, {}), ('ReLU', {}, 0), ('linear', {}, {})]\",{},{},{},{},{},{},{}\n",
                       seed, i, width, parameters / 2, width, width, parameters / 2, batch, memory, 100 * activity,
                       activity, 0.9 * activity, 0.3 * activity, 0.5 * activity);
  }
  return csv;
}

class DripleSuite : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.make_directory("/data/driple/official"));
    ASSERT_TRUE(files_.write_atomically("/data/driple/official/node_frequency.csv", "MatMul,0.02\nRelu,0.01\n"));
    write("/data/driple/gpumemnet", 100, 1);
  }
  void write(const std::string& folder, std::size_t runs, std::uint64_t seed) {
    ASSERT_TRUE(files_.make_directory(folder));
    ASSERT_TRUE(files_.write_atomically(folder + "/mlp_data_step1.csv.gz", synthetic(runs, seed)));
    ASSERT_TRUE(files_.write_atomically(folder + "/mlp_data_step2.csv.gz", synthetic(runs, seed + 10)));
  }
  SuiteInput input() {
    SuiteInput input{.files = files_, .now_s = [] { return 0.0; }, .data = "/data", .threads = 1};
    input.training.steps = 5;
    return input;
  }

  env::SimFiles files_;
};

TEST_F(DripleSuite, ChoosesAModelAndReportsItsErrors) {
  const auto report = run_driple_suite(input());
  ASSERT_TRUE(report) << report.error().to_string();
  ASSERT_EQ(report->rows.size(), 7U);
  const nlohmann::json json = nlohmann::json::parse(to_json(*report));
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i) sum += json["groups"][i]["nrmse_range"].get<double>();
  const nlohmann::json& all = json["groups"][6];
  EXPECT_EQ(all["group"], "all");
  EXPECT_NEAR(all["nrmse_range"].get<double>(), sum / 6, 1e-12);
  EXPECT_LT(all["nrmse_range"].get<double>(), 0.1);
  EXPECT_GT(all["nrmse_mean"].get<double>(), 0);
  EXPECT_LT(all["nrmse_max_train"].get<double>(), 1.1 * all["nrmse_range"].get<double>());
  EXPECT_GT(all["coverage80"].get<double>(), 0.6);
  EXPECT_NE(report->notes[1].find("network"), std::string::npos) << report->notes[1];
  EXPECT_EQ(report->figures.size(), 1U);
}

TEST_F(DripleSuite, ScoresATestFolderAndKeepsTheNetwork) {
  write("/test", 30, 5);
  SuiteInput with_test = input();
  with_test.test = "/test";
  with_test.training.keep = "/kept";
  const auto report = run_driple_suite(with_test);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->rows[0].score.cases, 60U);
  EXPECT_TRUE(files_.exists("/kept/driple.network"));
}

TEST_F(DripleSuite, RefusesTooFewRuns) {
  write("/few", 20, 7);
  SuiteInput few = input();
  few.train = "/few";
  EXPECT_FALSE(run_driple_suite(few).has_value());
}

TEST_F(DripleSuite, AblationsChangeOnePartAtATimeAgainstTheSameNetwork) {
  SuiteInput short_one = input();
  short_one.training.steps = 3;
  const auto report = run_driple_ablations_suite(short_one);
  ASSERT_TRUE(report) << report.error().to_string();
  ASSERT_EQ(report->rows.size(), 13U);
  const auto more = [&](std::string_view group, std::string_view name) {
    const ReportRow* row = report->find(group);
    EXPECT_NE(row, nullptr) << group;
    for (const auto& [key, value] : row->more) {
      if (key == name) return value;
    }
    return std::nan("");
  };
  for (const char* reference : {"grouping: none", "graph layer: gcn", "depth: log2", "readout: set2set"}) {
    EXPECT_EQ(more(reference, "change"), 0) << reference;
    EXPECT_EQ(more(reference, "nrmse_range"), more("grouping: none", "nrmse_range")) << reference;
  }
  EXPECT_NEAR(more("readout: mean", "change"),
              more("readout: mean", "nrmse_range") / more("readout: set2set", "nrmse_range") - 1, 1e-12);
  EXPECT_NE(more("graph layer: gin", "change"), 0);
  EXPECT_LE(more("depth: half", "least"), more("depth: half", "most"));
  EXPECT_EQ(more("grouping: proportional", "published_change"), -0.46);
}

// With iterations of real models at hand, grouping is asked about once more, and progress goes on where it was.
TEST_F(DripleSuite, AblationsAskAboutLargeGraphsToo) {
  std::string lines = profile::header_line({.machine = "synthetic", .library = "none"});
  for (std::int64_t batch = 1; batch <= 120; ++batch) {
    profile::DatasetEntry entry{.configuration = {"lenet", "lenet", batch}};
    entry.visits = {Seconds(1e-3 * static_cast<double>(batch))};
    entry.operators = {{workload::OperatorIndex(0), workload::Phase::kForward, Seconds(1e-4), Seconds(0)}};
    lines += profile::entry_line(entry);
  }
  ASSERT_TRUE(files_.make_directory("data"));
  ASSERT_TRUE(files_.write_atomically(std::string(kShippedIterations), lines));
  SuiteInput short_one = input();
  short_one.training.steps = 2;
  std::uint64_t last = 0, most = 0;
  short_one.training.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    most = total;
  };
  const auto report = run_driple_ablations_suite(short_one);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->rows.size(), 17U);
  EXPECT_NE(report->find("grouping of large graphs: uniform"), nullptr);
  EXPECT_EQ(last, most);
}

// Errors 1 and −3 over measured 2 and 10 (training: up to 20): root of 5; range 8, mean 6.
TEST(ResourceModels, ErrorsAreNormalisedThreeWays) {
  std::vector<ResourceExample> examples(3);
  examples[0].used = {2};
  examples[1].used = {10};
  examples[2].used = {20};
  const auto errors = normalised_errors({&examples[0], &examples[1]}, {{3}, {7}}, {&examples[2]});
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_NEAR(errors[0].range, std::sqrt(5.0) / 8, 1e-12);
  EXPECT_NEAR(errors[0].mean, std::sqrt(5.0) / 6, 1e-12);
  EXPECT_NEAR(errors[0].max_train, std::sqrt(5.0) / 20, 1e-12);
  EXPECT_NEAR(errors[1].range, errors[0].range, 1e-12);
}

}  // namespace
}  // namespace orrery::lab
