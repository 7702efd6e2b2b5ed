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

TEST_F(SimulateTest, ExplainsWhatWasDecidedAboutAJob) {
  write_trace();
  const auto lines = json_of("simulate jobs.csv --cluster 1x2 --policy fifo,first-fit --explain c");
  ASSERT_EQ(lines.size(), 7u);
  // fifo: c waits behind b, which needs both GPUs; first-fit: it starts at once.
  EXPECT_EQ(lines[1]["what"], "waits 13.0 s");
  EXPECT_EQ(lines[2]["what"], "starts on 1 GPU of machine 0");
  EXPECT_EQ(lines[2]["time_s"], 15);
  EXPECT_EQ(lines[5]["policy"], "first-fit");
  EXPECT_EQ(lines[5]["time_s"], 2);
  const Outcome text = call("simulate jobs.csv --cluster 1x2 --policy fifo --explain c");
  EXPECT_NE(text.output.find("waits 13.0 s"), std::string::npos);
  EXPECT_NE(text.output.find("makespan"), std::string::npos);
  EXPECT_NE(call("simulate jobs.csv --explain missing").errors.find("no job \"missing\""), std::string::npos);
  EXPECT_EQ(call("simulate jobs.csv --explain c --seeds 2").exit_code, kBadInput);
}

// A policy that refuses the trace does not affect the others, and the command does not look like a success.
TEST_F(SimulateTest, OnePolicyThatRefusesLeavesTheResultsOfTheOthers) {
  write("typed.csv", "id,submit_s,duration_s,gpus,duration_s.V100,duration_s.T4\na,0,,1,10,30\n");
  for (const std::string more : {"", " --prediction-error 0.1 --seeds 2", " --sweep runs.jsonl"}) {
    const Outcome outcome = call("simulate typed.csv --cluster V100=1x1,T4=1x1 --policy fifo,flow,srtf --json" + more);
    EXPECT_NE(outcome.exit_code, kDone) << more;
    EXPECT_NE(outcome.errors.find("flow"), std::string::npos) << outcome.errors;
    const auto rows = nlohmann::json::parse(outcome.output, nullptr, false);
    ASSERT_TRUE(rows.is_array()) << more << outcome.errors;
    EXPECT_EQ(rows.front()["policy"], "fifo");
    EXPECT_EQ(rows.back()["policy"], "srtf");
  }
  const Outcome changes = call("simulate whatif typed.csv --cluster V100=1x1,T4=1x1 policy=flow policy=srtf --json");
  EXPECT_NE(changes.exit_code, kDone);
  EXPECT_NE(changes.errors.find("policy=flow"), std::string::npos) << changes.errors;
  const auto rows = nlohmann::json::parse(changes.output, nullptr, false);
  ASSERT_TRUE(rows.is_array()) << changes.errors;
  EXPECT_EQ(rows.size(), 2u);
}

TEST_F(SimulateTest, TheLogTellsWhichJobLostItsGpusToAFailure) {
  write("jobs.csv", "id,submit_s,duration_s,gpus\na,0,7200,1\n");
  write("prices.csv", "time_s,price\n0,1\n3600,3\n5000,1\n");
  ASSERT_EQ(
      call("simulate jobs.csv --cluster 1x1 --policy fifo --prices prices.csv --bid 2 --checkpoint 1000s --log l.csv")
          .exit_code,
      kDone);
  const std::string log = *sim_.files.read("l.csv", mebibytes(1));
  EXPECT_NE(log.find("fifo,3600,evict,a,0:1,\"machine 0 failed or was taken back, 600 s of work are lost\""),
            std::string::npos)
      << log;
}

TEST_F(SimulateTest, SlurmKeepsItsRunsInASweep) {
  write_trace();
  const Outcome outcome = call("simulate jobs.csv --cluster 1x2 --slurm --seeds 3");
  EXPECT_EQ(outcome.exit_code, kBadInput);
  EXPECT_NE(outcome.errors.find("--sweep"), std::string::npos);
}

TEST_F(SimulateTest, WhatifSaysWhatChangesAreWorth) {
  write_trace();
  const auto rows =
      json_of("simulate whatif jobs.csv --cluster 1x2 policy=first-fit cluster=2x2 cluster=2x2+policy=first-fit");
  ASSERT_EQ(rows.size(), 4u);
  // fifo: 10, 14 and 16 s after submission; first-fit: 10, 14 and 3; with two more GPUs no job waits: 10, 5 and 3.
  EXPECT_EQ(rows[0]["change"], "as it is");
  EXPECT_NEAR(rows[0]["mean_s"].get<double>(), 40.0 / 3, 1e-9);
  EXPECT_NEAR(rows[1]["mean_s"].get<double>(), 27.0 / 3, 1e-9);
  EXPECT_NEAR(rows[1]["mean_change"].get<double>(), 27.0 / 40 - 1, 1e-9);
  EXPECT_NEAR(rows[2]["mean_s"].get<double>(), 18.0 / 3, 1e-9);
  EXPECT_NEAR(rows[2]["saved_s_per_gpu"].get<double>(), (40.0 - 18) / 3 / 2, 1e-9);
  EXPECT_EQ(rows[2]["mean_s"], rows[3]["mean_s"]);
  EXPECT_EQ(rows[2]["gpus"], 4);
  EXPECT_TRUE(rows[1]["saved_s_per_gpu"].is_null());
}

TEST_F(SimulateTest, WhatifIsTheSameRunAsSimulateWithThatOption) {
  write_trace();
  const auto rows = json_of(
      "simulate whatif jobs.csv --cluster 1x2 --policy srtf prediction-error=0.7 mtbf=20s+repair=2s --threads 3");
  const auto errors = json_of("simulate jobs.csv --cluster 1x2 --policy srtf --prediction-error 0.7");
  const auto failures = json_of("simulate jobs.csv --cluster 1x2 --policy srtf --mtbf 20s --repair 2s");
  EXPECT_EQ(rows[1]["mean_s"], errors[0]["mean_s"]);
  EXPECT_EQ(rows[2]["mean_s"], failures[0]["mean_s"]);
}

TEST_F(SimulateTest, WhatifAsksTheUsualQuestionsByItselfAndRefusesOthers) {
  write_trace();
  const auto rows = json_of("simulate whatif jobs.csv --cluster 4x2");
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[1]["change"], "cluster=5x2");
  const auto error = [&](const std::string& change) {
    const Outcome outcome = call("simulate whatif jobs.csv --cluster 1x2 " + change);
    EXPECT_EQ(outcome.exit_code, kBadInput) << change;
    return outcome.errors;
  };
  EXPECT_NE(error("polcy=srtf").find("did you mean \"policy\""), std::string::npos);
  EXPECT_NE(error("srtf").find("OPTION=VALUE"), std::string::npos);
  EXPECT_NE(error("policy=strf").find("policy=strf"), std::string::npos);
  EXPECT_NE(error("cluster=0x0").find("cluster=0x0"), std::string::npos);
  EXPECT_NE(error("mtbf=soon").find("soon"), std::string::npos);
}

// Two GPUs: a has both and about 5 s to go; b waits for it, c for b.
TEST_F(SimulateTest, EstimatesStartsOfAQueueAndExplainsThem) {
  write("queue.csv", "id,submit_s,duration_s,gpus,executed_s\na,0,10,2,5\nb,1,10,2,\nc,2,10,1,\nd,3,10,9,\n");
  const auto rows = json_of("simulate estimate queue.csv --cluster 1x2 --error 0.05");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["state"], "runs");
  EXPECT_TRUE(rows[0]["start_s"].is_null());
  EXPECT_NEAR(rows[0]["end_s"].get<double>(), 5, 0.5);
  EXPECT_NEAR(rows[1]["start_s"].get<double>(), 5, 0.5);
  EXPECT_LT(rows[1]["start_low_s"].get<double>(), rows[1]["start_high_s"].get<double>());
  EXPECT_NEAR(rows[2]["start_s"].get<double>(), 15, 1);
  EXPECT_EQ(rows[3]["state"], "never starts");
  const Outcome outcome = call("simulate estimate queue.csv --cluster 1x2 --error 0.05 --explain b");
  EXPECT_EQ(outcome.exit_code, kDone) << outcome.errors;
  EXPECT_NE(outcome.output.find("b asks for 2 GPUs; 0 of 2 are free"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("it waits for a (2 GPUs, running)"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("with one more machine it would start in"), std::string::npos) << outcome.output;
  EXPECT_NE(call("simulate estimate queue.csv --cluster 1x2 --explain x").exit_code, kDone);
  EXPECT_NE(call("simulate estimate queue.csv --cluster 1x2 --replay 5 --explain b").exit_code, kDone);
}

// As sacct shows a queue: one job has ended, one runs, two wait, one of them with a limit that is said otherwise.
TEST_F(SimulateTest, EstimatesReadAQueueOfSlurm) {
  const std::string header = "JobID|User|State|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES\n";
  const std::string rows =
      "10|ann|COMPLETED|2026-05-01T08:00:00|2026-05-01T08:00:00|2026-05-01T09:00:00|01:00:00|02:00:00|gres/gpu=8|gres/"
      "gpu=8\n"
      "10.batch||COMPLETED|2026-05-01T08:00:00|2026-05-01T08:00:00|2026-05-01T09:00:00|01:00:00||gres/gpu=8|gres/"
      "gpu=8\n"
      "11|ann|RUNNING|2026-05-01T08:10:00|2026-05-01T09:00:00|Unknown|00:30:00|01:00:00|gres/gpu=8|gres/gpu=8\n"
      "12|bob|PENDING|2026-05-01T09:10:00|Unknown|Unknown|00:00:00|02:00:00|gres/gpu=8|\n"
      "13|bob|CANCELLED by 7|2026-05-01T09:11:00|Unknown|2026-05-01T09:12:00|00:00:00|02:00:00|gres/gpu=8|\n"
      "14|bob|PENDING|2026-05-01T09:20:00|Unknown|Unknown|00:00:00|1-00:00:00|gres/gpu=4|\n";
  write("queue.txt", header + rows);
  const auto jobs = json_of("simulate estimate queue.txt --cluster 1x8 --error 0.05");
  ASSERT_EQ(jobs.size(), 3u) << jobs;
  EXPECT_EQ(jobs[0]["job"], "11");
  EXPECT_EQ(jobs[0]["state"], "runs");
  EXPECT_NEAR(jobs[0]["end_s"].get<double>(), 1800, 200);
  EXPECT_EQ(jobs[1]["state"], "waits");
  EXPECT_NEAR(jobs[1]["start_s"].get<double>(), 1800, 200);
  EXPECT_NEAR(jobs[2]["start_s"].get<double>(), 9000, 900);
  const Outcome why = call("simulate estimate queue.txt --cluster 1x8 --explain 12");
  EXPECT_EQ(why.exit_code, kDone) << why.errors;
  EXPECT_NE(why.output.find("it waits for 11 (8 GPUs, running)"), std::string::npos) << why.output;
  EXPECT_NE(why.output.find("2 jobs of the file have ended"), std::string::npos) << why.output;
  // Its history is what has ended in it; as a trace, what waits is no job.
  EXPECT_EQ(json_of("simulate estimate queue.txt --cluster 1x8 --history queue.txt").size(), 3u);
  EXPECT_NE(call("jobtrace show queue.txt").output.find("it has not run yet"), std::string::npos);
  // Nothing says how long job 12 runs.
  write("short.txt", "JobID|State|Submit|Elapsed|ReqTRES\n12|PENDING|2026-05-01T09:10:00|00:00:00|gres/gpu=8\n");
  EXPECT_NE(call("simulate estimate short.txt --cluster 1x8").errors.find("Timelimit"), std::string::npos);
  write("short.txt", "JobID|State|Submit|Elapsed|ReqTRES\n12|ASLEEP|2026-05-01T09:10:00|00:00:00|gres/gpu=8\n");
  EXPECT_NE(call("simulate estimate short.txt --cluster 1x8").errors.find("State"), std::string::npos);
}

TEST_F(SimulateTest, EstimatesRefuseMoreGpusInUseThanThereAre) {
  write("queue.csv", "id,submit_s,duration_s,gpus,executed_s\na,0,10,8,5\nb,1,10,4,5\nc,2,10,1,\n");
  const Outcome outcome = call("simulate estimate queue.csv --cluster 1x8");
  EXPECT_EQ(outcome.exit_code, kBadInput);
  EXPECT_NE(outcome.errors.find("12 GPUs"), std::string::npos) << outcome.errors;
}

// The text about a job beside the table agrees with the table.
TEST_F(SimulateTest, ExplanationsGiveTheTimesOfTheTable) {
  write("queue.csv",
        "id,submit_s,duration_s,gpus,executed_s\na,0,7200,8,3600\nb,60,3600,4,1800\nc,90,1800,8,\nd,120,600,4,\n");
  const std::string line = "simulate estimate queue.csv --cluster 2x8";
  const auto rows = json_of(line);
  const auto text_of = [&](std::size_t row, const char* key) {
    return format_seconds(Seconds(rows[row][key].get<double>()));
  };
  const std::string said = call(line + " --explain c").output;
  EXPECT_NE(said.find("which ends in " + text_of(1, "end_s")), std::string::npos) << said;
  EXPECT_NE(said.find("instead of " + text_of(2, "start_s")), std::string::npos) << said;
}

TEST_F(SimulateTest, NoEndIsBeforeItsStartWithAHistoryEither) {
  ASSERT_EQ(call("jobtrace generate --jobs 600 --rate 90 --out past.csv").exit_code, kDone);
  std::string queue = "id,submit_s,duration_s,gpus,executed_s\nr,0,1,16,600\n";
  for (int j = 0; j < 20; ++j) queue += "w" + std::to_string(j) + "," + std::to_string(10 + j) + ",1,4,\n";
  write("queue.csv", queue);
  const auto rows = json_of("simulate estimate queue.csv --cluster 2x8 --history past.csv --draws 50");
  ASSERT_EQ(rows.size(), 21u);
  for (const auto& row : rows) {
    if (row["state"] != "waits") continue;
    EXPECT_GE(row["end_low_s"].get<double>(), row["start_low_s"].get<double>()) << row;
    EXPECT_GE(row["end_s"].get<double>(), row["start_s"].get<double>()) << row;
    EXPECT_GE(row["end_high_s"].get<double>(), row["start_high_s"].get<double>()) << row;
    EXPECT_LE(row["start_low_s"].get<double>(), row["start_s"].get<double>()) << row;
  }
}

TEST_F(SimulateTest, EstimatesLearnFromAHistory) {
  ASSERT_EQ(call("jobtrace generate --jobs 400 --rate 60 --out past.csv").exit_code, kDone);
  write("queue.csv", "id,submit_s,duration_s,gpus,executed_s\na,0,1,16,60\nb,1,1,16,\n");
  const auto rows = json_of("simulate estimate queue.csv --cluster 2x8 --history past.csv --draws 50");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_GT(rows[1]["start_s"].get<double>(), 60);  // not the second that the file says
  const auto score = json_of("simulate estimate past.csv --cluster 2x8 --replay 40 --draws 20");
  EXPECT_EQ(score[0]["cases"], 40);
  EXPECT_GT(score[0]["by_mean_error_s"].get<double>(), 0);
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
  for (const char* name :
       {"completion", "utilisation", "fragmentation", "waiting", "means", "gantt-srtf", "gantt-gandiva"}) {
    EXPECT_TRUE(sim_.files.exists(std::string("p/") + name + ".svg")) << name;
  }
}

TEST_F(SimulateTest, NoticeNeedsMachinesThatFail) {
  write_trace();
  const Outcome outcome = call("simulate jobs.csv --cluster 1x2 --policy fifo --preemption-notice 2m");
  EXPECT_NE(outcome.exit_code, kDone);
  EXPECT_NE(outcome.errors.find("--mtbf"), std::string::npos) << outcome.errors;
  EXPECT_EQ(call("simulate jobs.csv --cluster 1x2 --policy fifo --preemption-notice 2m --mtbf 1h").exit_code, kDone);
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

TEST_F(SimulateTest, JobsRunOnTheTypesOfTheCluster) {
  write("jobs.csv", "id,submit_s,duration_s,gpus,duration_s.V100,duration_s.K80\na,0,,1,10,40\nb,0,,1,12,30\n");
  const auto rows = json_of("simulate jobs.csv --cluster V100=1x1,K80=1x1 --policy fifo,allox");
  // In order of arrival: 10 and 30. The least sum: a before b on the fast one, 10 and 22.
  EXPECT_NEAR(rows[0]["mean_s"].get<double>(), 20, 1e-9);
  EXPECT_NEAR(rows[1]["mean_s"].get<double>(), 16, 1e-9);
  EXPECT_NE(call("simulate jobs.csv --cluster T4=1x1 --policy fifo").errors.find("V100"), std::string::npos);
  EXPECT_EQ(call("simulate jobs.csv --cluster V100=1x1 --policy gandiva").exit_code, kDone);
  EXPECT_NE(call("simulate jobs.csv --cluster V100=1x1 --policy optimus-ps").exit_code, kDone);
  EXPECT_NE(call("simulate jobs.csv --cluster V100=x --policy fifo").errors.find("TYPE=MACHINESxGPUS"),
            std::string::npos);
}

TEST_F(SimulateTest, ASweepGoesOnWhereItWasInterrupted) {
  ASSERT_EQ(call("jobtrace generate --jobs 60 --out made.csv").exit_code, kDone);
  const std::string line = "simulate made.csv --cluster 1x8 --policy srtf,sjf --prediction-error 0.5 --seeds 3";
  const auto whole = json_of(line);
  ASSERT_EQ(whole.size(), 6u);
  EXPECT_NE(whole[0]["decision_hash"], whole[1]["decision_hash"]);
  EXPECT_EQ(json_of(line + " --threads 4"), whole);
  EXPECT_EQ(json_of(line + " --sweep runs.jsonl"), whole);
  // Two rows are there, and a third was cut off.
  const std::string kept = *sim_.files.read("runs.jsonl", mebibytes(1));
  const std::size_t second = kept.find('\n', kept.find('\n') + 1) + 1;
  write("runs.jsonl", kept.substr(0, second + 40));
  const Outcome resumed = call(line + " --sweep runs.jsonl");
  EXPECT_NE(resumed.output.find("2 of 6 runs were kept"), std::string::npos) << resumed.output << resumed.errors;
  EXPECT_EQ(json_of(line + " --sweep runs.jsonl"), whole);
  // Another setup does not count as done.
  const Outcome other = call(line + " --resume-cost 10s --sweep runs.jsonl");
  EXPECT_EQ(other.output.find("were kept"), std::string::npos);
  write("other.txt", "no sweep\nat all\n");
  EXPECT_NE(call(line + " --sweep other.txt").errors.find("other.txt:1"), std::string::npos);
  write("other.txt", "no line at all");
  EXPECT_NE(call(line + " --sweep other.txt").exit_code, kDone);
  EXPECT_EQ(*sim_.files.read("other.txt", mebibytes(1)), "no line at all");
  EXPECT_NE(call("simulate made.csv --policy fifo --seeds 3").errors.find("--prediction-error"), std::string::npos);
  EXPECT_NE(call(line + " --report r.html").errors.find("--report"), std::string::npos);
}

TEST_F(SimulateTest, CostFollowsThePrice) {
  write("jobs.csv", "id,submit_s,duration_s,gpus\na,0,7200,2\n");
  write("prices.csv", "time_s,price\n0,1\n3600,3\n");
  // Two GPUs for an hour at 1, then for an hour at 3.
  EXPECT_NEAR(json_of("simulate jobs.csv --cluster 1x2 --policy fifo --prices prices.csv")[0]["cost_usd"].get<double>(),
              8, 1e-9);
  // Above the bid the machine is gone, for good.
  const auto taken = json_of("simulate jobs.csv --cluster 1x2 --policy fifo --prices prices.csv --bid 2");
  EXPECT_EQ(taken[0]["unfinished"], 1);
  EXPECT_NE(call("simulate jobs.csv --policy fifo --bid 2").errors.find("--prices"), std::string::npos);
  EXPECT_NE(call("simulate jobs.csv --policy fifo --prices prices.csv --gpu-price 2").exit_code, kDone);
  write("prices.csv", "time_s,price\n0,1\nlater,3\n");
  EXPECT_NE(call("simulate jobs.csv --policy fifo --prices prices.csv").errors.find("prices.csv:3"), std::string::npos);
}

TEST_F(SimulateTest, MissingSpeedsAreNamedAndPredictedIfAsked) {
  write("gavel.csv",
        "job_type,total_steps,scale_factor,priority_weight,slo,arrival_time_s\nA,100,1,1,-1,0\nA,100,2,1,-1,5\n");
  write("speeds.json",
        R"json({"v100": {"('A', 1)": {"null": 4.0}, "('B', 1)": {"null": 2.0}, "('B', 2)": {"null": 3.0}}})json");
  const std::string line = "simulate gavel.csv --speeds speeds.json --cluster 1x4 --policy fifo";
  EXPECT_NE(call(line).output.find("line 3: job_type: no speed of \"A\" on 2 GPUs"), std::string::npos);
  const Outcome predicted = call(line + " --missing-speeds predict");
  EXPECT_NE(predicted.output.find("predicted the speed of 1 jobs"), std::string::npos) << predicted.output;
  // 100 steps at 4 x 3/2 a second, as B gains from the second GPU.
  const auto rows = json_of(line + " --missing-speeds predict");
  EXPECT_NEAR(rows[0]["mean_s"].get<double>(), (25 + 100 / 6.0) / 2, 1e-6);
}

TEST_F(SimulateTest, MeasuredInterferenceAndLocalityAreTaken) {
  write("jobs.csv", "id,submit_s,duration_s,gpus,model\na,0,100,2,big\n");
  write("locality.csv", "model,gpus,machines,speed\nbig,2,2,0.5\n");
  const std::string line = "simulate jobs.csv --cluster 2x1 --policy fifo --locality locality.csv";
  EXPECT_NEAR(json_of(line)[0]["mean_s"].get<double>(), 200, 1e-6);
  write("locality.csv", "model,gpus,machines,speed\nbig,2,2,-1\n");
  EXPECT_NE(call(line).errors.find("locality.csv:2"), std::string::npos);
  write("pairs.csv", "model1,speed1,model2\nbig,1,big\n");
  EXPECT_NE(call("simulate jobs.csv --policy fifo --interference pairs.csv").errors.find("speed2"), std::string::npos);
}

TEST_F(SimulateTest, MistakesAreNamed) {
  write_trace();
  EXPECT_NE(call("simulate jobs.csv --policy ffo").errors.find("fifo"), std::string::npos);
  EXPECT_NE(call("simulate jobs.csv --cluster nothing").errors.find("32x8"), std::string::npos);
  EXPECT_NE(call("simulate missing.csv").exit_code, kDone);
  EXPECT_NE(call("simulate").exit_code, kDone);
}

TEST_F(SimulateTest, FailuresCostTime) {
  ASSERT_EQ(call("jobtrace generate --jobs 60 --out made.csv").exit_code, kDone);
  const auto idle = json_of("simulate made.csv --cluster 2x8 --policy fifo,srtf,las,gandiva,optimus");
  const auto rough = json_of(
      "simulate made.csv --cluster 2x8 --policy fifo,srtf,las,gandiva,optimus --mtbf 2h --repair 30m --checkpoint 10m");
  for (std::size_t i = 0; i < idle.size(); ++i) {
    EXPECT_GT(rough[i]["mean_s"].get<double>(), idle[i]["mean_s"].get<double>()) << idle[i]["policy"];
    EXPECT_EQ(rough[i]["unfinished"], 0);
  }
}

TEST_F(SimulateTest, JobTracesAreShownConvertedAndGenerated) {
  write_trace();
  const auto rows = json_of("jobtrace show jobs.csv");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["jobs"], 2);
  ASSERT_EQ(call("jobtrace convert jobs.csv --out jobs.jsonl").exit_code, kDone);
  EXPECT_EQ(json_of("jobtrace show jobs.jsonl"), rows);
  ASSERT_EQ(call("jobtrace generate --jobs 20 --mix polimi --arrivals bursts --out made.csv").exit_code, kDone);
  EXPECT_EQ(call("jobtrace show made.csv").exit_code, kDone);
  EXPECT_NE(call("jobtrace generate").exit_code, kDone);
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
