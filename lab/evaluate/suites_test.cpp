#include "lab/evaluate/suites.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "env/sim_files.h"
#include "lab/evaluate/kineto_suite.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

SuiteInput input_on(env::SimFiles& files) {
  return {.files = files, .now_s = [] { return 0.0; }, .data = "/data", .threads = 1};
}

// The time of an element-wise operator at 0.8 of the bandwidth after 20 µs.
std::string rows_of(const char* device, double gigabytes, const char* source, std::uint64_t seed) {
  Random random(seed);
  std::string csv;
  for (int i = 0; i < 200; ++i) {
    const double rows = std::floor(std::exp2(random.uniform(0, 16)));
    const double time = 0.02 + 12 * rows * 1024 / (0.8 * gigabytes * 1e9) * 1e3;
    csv += fmt::format("add,{},{},1024,{},{}\n", device, rows, time, source);
  }
  return csv;
}

constexpr const char* kOperatorHeader = "OPName,Device,B,H,latency_ms,source\n";
constexpr const char* kDevices =
    "Device,Mem_Bw,Num_Sm,L2Cache,file,SingleFLOPs\n"
    "Tesla P100-PCIE-16GB,732,56,4,P100,9519\nTesla V100-PCIE-32GB,900,80,6,V100,14029\nTesla T4,320,40,4,T4,8141\n";

void write_operators(env::SimFiles& files, const std::string& folder, const std::string& csv) {
  ASSERT_TRUE(files.make_directory(folder + "/ops"));
  ASSERT_TRUE(files.write_atomically(folder + "/devices.csv", kDevices));
  ASSERT_TRUE(files.write_atomically(folder + "/ops/elementwise.csv.gz", csv));
}

TEST(Suites, EveryOneIsFoundByItsName) {
  for (const Suite& suite : all_suites()) EXPECT_TRUE(find_suite(suite.name));
  const auto unknown = find_suite("operator");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("did you mean \"operators\"?"), std::string::npos);
}

TEST(Suites, WithoutDataEveryOneNamesTheFolder) {
  env::SimFiles files;
  for (const Suite& suite : all_suites()) {
    const auto report = suite.run(input_on(files));
    ASSERT_FALSE(report) << suite.name;
    if (suite.name == "own" || suite.name == "jobs") continue;  // take a file of this tool
    EXPECT_NE(report.error().to_string().find("/data/"), std::string::npos) << report.error().to_string();
    EXPECT_NE(report.error().to_string().find("ORRERY_DATA"), std::string::npos) << report.error().to_string();
  }
}

TEST(Suites, OperatorsOfATestFolderAreScoredAsUnseenAndSeen) {
  env::SimFiles files;
  write_operators(files, "/train",
                  kOperatorHeader + rows_of("Tesla P100-PCIE-16GB", 732, "train", 1) +
                      rows_of("Tesla V100-PCIE-32GB", 900, "train", 2));
  write_operators(
      files, "/test",
      kOperatorHeader + rows_of("Tesla T4", 320, "test", 3) + rows_of("Tesla V100-PCIE-32GB", 900, "test", 4));
  for (const char* other : {"bmm", "linear"}) {
    ASSERT_TRUE(files.write_atomically(fmt::format("/train/ops/{}.csv.gz", other), "OPName\n"));
  }
  SuiteInput input = input_on(files);
  input.train = "/train";
  input.test = "/test";
  const auto report = find_suite("operators")->run(input);
  ASSERT_TRUE(report) << report.error().to_string();
  const ReportRow* unseen = report->find("elementwise");
  const ReportRow* seen = report->find("elementwise, seen devices");
  ASSERT_TRUE(unseen != nullptr && seen != nullptr);
  EXPECT_EQ(unseen->score.cases, 200U);
  EXPECT_LT(unseen->score.mre, 0.1);
  EXPECT_EQ(unseen->published, 0.193);
  EXPECT_EQ(seen->score.cases, 200U);
  EXPECT_LT(seen->score.mre, 0.1);
}

TEST(Suites, TheNextStepIsTheMedianOfTheStepsBefore) {
  EXPECT_EQ(next_step_ms(std::vector<double>{176, 174, 177, 181, 176}), 176);
}

// Runs of a job whose step takes `scale` · (1 + workers / servers).
std::string speeds_of(const char* job, double scale) {
  std::string text;
  for (int servers = 1; servers <= 5; ++servers) {
    for (int workers = 1; workers <= 5; ++workers) {
      const double speed = 1 / (scale * (1.0 + workers / static_cast<double>(servers)));
      text += fmt::format("('{}', 'sync', 32, {}, {}, [{}, {}])\n", job, servers, workers, speed, speed);
    }
  }
  return text;
}

// What was measured in the test folder is not learned from, whatever it says.
TEST(Suites, WorkersAndServersOfATestFolderAreOnlyScored) {
  const auto predicted = [](double scale_of_test) {
    env::SimFiles files;
    for (const char* folder : {"/train", "/test"}) EXPECT_TRUE(files.make_directory(folder));
    EXPECT_TRUE(files.write_atomically("/train/config_speed.txt",
                                       speeds_of("a", 0.1) + speeds_of("b", 0.2) + speeds_of("c", 0.3)));
    EXPECT_TRUE(files.write_atomically("/test/config_speed.txt", speeds_of("a", scale_of_test)));
    SuiteInput input = input_on(files);
    input.train = "/train";
    input.test = "/test";
    const auto report = find_suite("ps-workers").value().run(input);
    EXPECT_TRUE(report) << report.error().to_string();
    std::vector<double> times;
    for (const Case& one : report->cases) {
      if (one.group == "configurations") times.push_back(one.predicted);
    }
    return times;
  };
  const std::vector<double> alike = predicted(0.1);
  EXPECT_EQ(alike.size(), 25u) << "every run of the test, and none of the training part";
  EXPECT_EQ(predicted(7), alike);
}

}  // namespace
}  // namespace orrery::lab
