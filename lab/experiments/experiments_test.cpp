// The published experiments on small inputs: every table is there, and what they say follows from the numbers.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "env/sim_files.h"
#include "lab/experiments/gandiva.h"
#include "lab/experiments/optimus.h"
#include "lab/experiments/prediction_error.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

void expect_whole(const ExperimentReport& report, const std::vector<std::string>& tables) {
  const auto json = nlohmann::json::parse(report.to_json());
  for (const std::string& key : tables) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_FALSE(json[key].empty()) << key;
  }
  EXPECT_EQ(json["findings"].size(), report.findings.size());
  for (const ExperimentFigure& figure : report.figures) {
    EXPECT_TRUE(figure.svg.starts_with("<")) << figure.file;
    EXPECT_EQ(figure.svg.find("no data"), std::string::npos) << figure.file;
  }
  const std::string text = report.to_text();
  for (const Finding& finding : report.findings) {
    EXPECT_NE(text.find(finding.claim + "\n  " + (finding.agrees ? "agrees: " : "disagrees: ")), std::string::npos);
  }
}

TEST(OptimusExperiment, SaysWhatItsNumbersSay) {
  int steps = 0;
  const auto report = run_optimus_experiment({.seeds = 2, .jobs = 25, .machines = 4}, [&] { ++steps; });
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(steps, optimus_experiment_steps());
  expect_whole(*report, {"policies", "apart", "settings", "errors", "young"});
  const auto json = nlohmann::json::parse(report->to_json());
  const auto& policies = json["policies"];
  EXPECT_NEAR(policies[0]["mean_gain"].get<double>(),
              policies[0]["mean_s"].get<double>() / policies[3]["mean_s"].get<double>(), 1e-9);
  EXPECT_EQ(report->findings[0].agrees, policies[0]["mean_gain"] > 1 && policies[0]["makespan_gain"] > 1);
  // Without errors nothing changes.
  EXPECT_EQ(json["errors"][0]["speed_mean"], 1.0);
  EXPECT_EQ(json["errors"][0]["convergence_mean"], 1.0);
  // Gangs never restart, elastic jobs do.
  EXPECT_EQ(policies[0]["overhead"], 0.0);
  EXPECT_GT(policies[3]["overhead"], 0.0);
}

TEST(OptimusExperiment, TheSameSeedsGiveTheSameReport) {
  const OptimusExperiment options{.seeds = 1, .jobs = 15, .machines = 3};
  EXPECT_EQ(run_optimus_experiment(options, {})->to_json(), run_optimus_experiment(options, {})->to_json());
}

void write_pairs(env::Files& files) {
  ASSERT_TRUE(files.make_directory("pairs"));
  ASSERT_TRUE(files.write_atomically("pairs/single_job_profiles.csv",
                                     "model,dataset,batchsize,amp,speed,gpu_util,gmem_util,gmem,label\n"
                                     "small,d,8,0,10,20,10,1000,0\nlarge,d,8,0,10,98,90,9000,2\n"));
  ASSERT_TRUE(files.write_atomically("pairs/colocate_pairs.csv",
                                     "model1,dataset1,batchsize1,amp1,speed1,model2,dataset2,batchsize2,amp2,speed2\n"
                                     "small,d,8,0,0.95,small,d,8,0,0.95\nsmall,d,8,0,0.7,large,d,8,0,0.8\n"
                                     "large,d,8,0,0.4,large,d,8,0,0.4\n"));
}

TEST(GandivaExperiment, ShowsEveryMechanism) {
  env::SimFiles files;
  write_pairs(files);
  const auto report = run_gandiva_experiment(files, "pairs", {.seeds = 1, .machines = 4, .jobs = 80}, {});
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  expect_whole(*report, {"time_slicing", "packing", "migration", "growth", "cluster"});
  const auto json = nlohmann::json::parse(report->to_json());
  ASSERT_EQ(json["time_slicing"].size(), 6u);
  // Equal parts of four GPUs in half an hour: 20 minutes.
  for (const auto& job : json["time_slicing"]) EXPECT_NEAR(job["gpu_min"].get<double>(), 20, 2);
  // Two small jobs gain 0.9, a large one beside itself loses 0.2.
  EXPECT_NEAR(json["packing"][0]["measured_gain"].get<double>(), 0.9, 1e-9);
  EXPECT_NEAR(json["packing"][1]["measured_gain"].get<double>(), (0.5 - 0.2) / 2, 1e-9);
  EXPECT_LT(json["growth"][1]["elastic_end_s"], json["growth"][0]["elastic_end_s"]);
  EXPECT_LT(json["migration"][1]["large_end_s"], json["migration"][0]["large_end_s"]);
}

TEST(GandivaExperiment, SaysWhichFileIsMissing) {
  env::SimFiles files;
  const auto report = run_gandiva_experiment(files, "nowhere", {}, {});
  ASSERT_FALSE(report.has_value());
  EXPECT_NE(report.error().to_string().find("nowhere/single_job_profiles.csv"), std::string::npos);
}

TEST(PredictionErrorExperiment, ErrorsNeverHelpABatchThatWasBest) {
  env::SimFiles files;
  std::string cases = ",job_name,norm_job_submit_time,ddl,A,B\n",
              philly = "timestamp,duration,num_gpus,gpu_time,cluster\n";
  for (int i = 0; i < 40; ++i) {
    const int length = 100 + 37 * (i * i % 41);
    cases += std::to_string(i) + ",j" + std::to_string(i) + ",0," + (i % 3 == 0 ? std::to_string(2 * length) : "inf") +
             "," + std::to_string(length) + "," + std::to_string(2 * length) + "\n";
    philly += "2017-09-04 10:" + std::to_string(10 + i) + ":00," + std::to_string(60 * length) + ",8,1,vc" + "\n";
  }
  ASSERT_TRUE(files.make_directory("data/hydra_pai") && files.make_directory("data/philly"));
  ASSERT_TRUE(files.write_atomically("data/hydra_pai/cases_30pct_deadlines.csv", cases));
  ASSERT_TRUE(files.write_atomically("data/philly/philly_jobs.csv", philly));
  int steps = 0;
  const auto report =
      run_prediction_error_experiment(files, "data", {.seeds = 2, .machines = "A=2,B=2"}, [&] { ++steps; });
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(steps, prediction_error_steps());
  expect_whole(*report, {"pai", "philly"});
  const auto json = nlohmann::json::parse(report->to_json());
  for (const auto& row : json["pai"]) EXPECT_GE(row["allox_ratio"].get<double>(), 1 - 1e-12) << row["error"];
  EXPECT_GT(json["pai"][6]["allox_ratio"].get<double>(), json["pai"][1]["allox_ratio"].get<double>());
}

}  // namespace
}  // namespace orrery::lab
