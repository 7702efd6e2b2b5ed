#include "cli/command_test.h"

namespace orrery::cli {
namespace {

class SimulateTest : public CommandTest {
 protected:
  // Two GPUs; the second job waits for the first, the third would fit beside it.
  void write_trace() { write("jobs.csv", "id,submit_s,duration_s,gpus\na,0,10,1\nb,1,5,2\nc,2,3,1\n"); }
};

TEST_F(SimulateTest, ComparesPolicies) {
  write_trace();
  const auto rows = json_of("simulate jobs.csv --cluster 1x2 --policy fifo,first-fit");
  ASSERT_EQ(rows.size(), 2u);
  // fifo: 10, 14 and 16 s after submission; first-fit: 10, 14 and 3.
  EXPECT_NEAR(rows[0]["mean_s"].get<double>(), 40.0 / 3, 1e-9);
  EXPECT_NEAR(rows[1]["mean_s"].get<double>(), 27.0 / 3, 1e-9);
  EXPECT_NE(rows[0]["decision_hash"], rows[1]["decision_hash"]);
  const auto again = json_of("simulate jobs.csv --cluster 1x2 --policy fifo,first-fit --threads 4");
  EXPECT_EQ(rows, again);
}

TEST_F(SimulateTest, WritesReportJobsLogAndPlots) {
  write_trace();
  const Outcome outcome = call(
      "simulate jobs.csv --cluster 1x2 --policy srtf,gandiva --report r.html --jobs j.csv --log l.csv --plots p "
      "--perfetto c.perfetto");
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.errors;
  const std::string html = *sim_.files.read("r.html", mebibytes(16));
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("gandiva"), std::string::npos);
  EXPECT_EQ(html.find("http-equiv"), std::string::npos);
  EXPECT_NE(sim_.files.read("l.csv", mebibytes(1))->find("start"), std::string::npos);
  EXPECT_NE(sim_.files.read("j.csv", mebibytes(1))->find("srtf,a,0"), std::string::npos);
  EXPECT_NE(sim_.files.read("c.perfetto", mebibytes(1))->find("machine 0 GPU 1"), std::string::npos);
  for (const char* name : {"completion", "utilisation", "waiting", "means", "gantt-srtf", "gantt-gandiva"}) {
    EXPECT_TRUE(sim_.files.exists(std::string("p/") + name + ".svg")) << name;
  }
}

TEST_F(SimulateTest, NoticeNeedsMachinesThatFail) {
  write_trace();
  const Outcome outcome = call("simulate jobs.csv --cluster 1x2 --policy fifo --notice 2m");
  EXPECT_NE(outcome.exit_code, kDone);
  EXPECT_NE(outcome.errors.find("--mtbf"), std::string::npos) << outcome.errors;
  EXPECT_EQ(call("simulate jobs.csv --cluster 1x2 --policy fifo --notice 2m --mtbf 1h").exit_code, kDone);
}

TEST_F(SimulateTest, SaysWhatWasSkippedAndWhatNeverFits) {
  write("jobs.csv", "id,submit_s,duration_s,gpus\na,0,10,1\nb,1,0,2\nc,2,3,9\n");
  const Outcome outcome = call("simulate jobs.csv --cluster 1x2 --policy fifo");
  ASSERT_EQ(outcome.exit_code, kDone) << outcome.errors;
  EXPECT_NE(outcome.output.find("line 3: duration: the job has no length"), std::string::npos);
  EXPECT_NE(outcome.output.find("1 jobs ask for more GPUs than there are"), std::string::npos);
  const Outcome strict = call("simulate jobs.csv --cluster 1x2 --policy fifo --strict");
  EXPECT_NE(strict.exit_code, kDone);
  EXPECT_NE(strict.errors.find("jobs.csv:3"), std::string::npos);
}

TEST_F(SimulateTest, MistakesAreNamed) {
  write_trace();
  EXPECT_NE(call("simulate jobs.csv --policy ffo").errors.find("fifo"), std::string::npos);
  EXPECT_NE(call("simulate jobs.csv --cluster nothing").errors.find("32x8"), std::string::npos);
  EXPECT_NE(call("simulate missing.csv").exit_code, kDone);
  EXPECT_NE(call("simulate").exit_code, kDone);
  EXPECT_NE(call("simulate jobs.csv --oracle somewhere").exit_code, kDone);
}

TEST_F(SimulateTest, AnOracleThatIsNotMetFails) {
  ASSERT_TRUE(sim_.files.make_directory("o").has_value());
  write("o/t.csv", "job_id,num_gpu,submit_time_s,duration_s\n0,1,0,10\n");
  write("o/t.summary.json", "{\"gpus\": 2}");
  write("o/t.expected_end_times.csv", "job_id,fifo\n0,10\n");
  EXPECT_EQ(call("simulate --oracle o").exit_code, kDone);
  write("o/t.expected_end_times.csv", "job_id,fifo\n0,11\n");
  const Outcome outcome = call("simulate --oracle o --json");
  EXPECT_NE(outcome.exit_code, kDone);
  EXPECT_EQ(nlohmann::json::parse(outcome.output)["failed"], 2);
}

TEST_F(SimulateTest, FailuresCostTime) {
  ASSERT_EQ(call("workload generate --jobs 60 --out made.csv").exit_code, kDone);
  const auto calm = json_of("simulate made.csv --cluster 2x8 --policy fifo,srtf,las,gandiva,optimus");
  const auto rough = json_of(
      "simulate made.csv --cluster 2x8 --policy fifo,srtf,las,gandiva,optimus --mtbf 2h --repair 30m --checkpoint 10m");
  for (std::size_t i = 0; i < calm.size(); ++i) {
    EXPECT_GT(rough[i]["mean_s"].get<double>(), calm[i]["mean_s"].get<double>()) << calm[i]["policy"];
    EXPECT_EQ(rough[i]["unfinished"], 0);
  }
}

TEST_F(SimulateTest, WorkloadsAreShownConvertedAndGenerated) {
  write_trace();
  const auto rows = json_of("workload show jobs.csv");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["jobs"], 2);
  ASSERT_EQ(call("workload convert jobs.csv --out jobs.jsonl").exit_code, kDone);
  EXPECT_EQ(json_of("workload show jobs.jsonl"), rows);
  ASSERT_EQ(call("workload generate --jobs 20 --mix polimi --arrivals bursts --out made.csv").exit_code, kDone);
  EXPECT_EQ(call("workload show made.csv").exit_code, kDone);
  EXPECT_NE(call("workload generate").exit_code, kDone);
}

TEST_F(SimulateTest, RunsAreComparedAfterwards) {
  write_trace();
  write("a.json", call("simulate jobs.csv --cluster 1x2 --policy fifo --json").output);
  write("b.json", call("simulate jobs.csv --cluster 1x4 --policy fifo --json").output);
  const auto rows = json_of("simulate compare a.json b.json");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["mean_ratio"], 1);
  EXPECT_LT(rows[1]["mean_ratio"].get<double>(), 1);
  write("c.json", "{}");
  EXPECT_NE(call("simulate compare c.json").exit_code, kDone);
}

}  // namespace
}  // namespace orrery::cli
