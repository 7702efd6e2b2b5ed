#include "lab/reference/reference.h"

#include <gtest/gtest.h>

#include "base/gzip.h"
#include "env/sim_env.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

class ReferenceTest : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) {
    ASSERT_TRUE(sim_.files.make_directory(path.substr(0, path.rfind('/'))).has_value());
    ASSERT_TRUE(sim_.files.write_atomically(path, text).has_value());
  }
  Result<ReferenceReport> run(const std::string& folder, const std::string& machines = "A=1,B=1") {
    return run_reference({sim_.files, [] { return 0.0; }, folder, "", "/data", machines});
  }
  env::SimEnv sim_;
};

TEST_F(ReferenceTest, EndTimesAreComparedJobByJob) {
  // Two GPUs; the second job waits for the first, the third fits beside it only without strict order.
  write("/o/small.csv.gz", gzip("job_id,num_gpu,submit_time_s,duration_s\n0,1,0,10\n1,2,1,5\n2,1,2,3\n"));
  write("/o/small.summary.json", R"({"gpus": 2})");
  write("/o/small.expected_end_times.csv", "job_id,fifo,fjf,other\n0,10,10,1\n1,15,15,1\n2,18,6,1\n");
  const auto report = run("/o");
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(report->kind, "tiresias");
  ASSERT_EQ(report->cases.size(), 5u);
  EXPECT_TRUE(report->cases[0].passed());
  // First fit ends the third job at 5, not at 6.
  EXPECT_EQ(report->cases[2].ours, 1);
  EXPECT_FALSE(report->cases[2].passed());
  EXPECT_FALSE(report->cases[3].passed());
  EXPECT_EQ(report->not_run(), 1u);
  EXPECT_EQ(report->failed(), 2u);
}

TEST_F(ReferenceTest, BatchesAreHeldToTheirBars) {
  write("/data/hydra_pai/cases_30pct_deadlines.csv",
        ",job_name,norm_job_submit_time,ddl,A,B\n0,x,0,inf,1,4\n1,y,0,3,2,3\n");
  // Best: x on A, y on B: 1 + 3 = 4, none late.
  write("/o/published_small.csv",
        "policy,first_n_jobs,avg_jct_s,avg_queue_delay_s,deadline_violated_jobs,total_violation_s,solver_ms\n"
        "Allox,2,2,0,0,0,1\nHydraPure,2,2,0,0,0,1\nHydraPure,1,0.5,0,0,0,1\nChronus,2,9,0,0,0,1\n");
  const auto report = run("/o");
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  ASSERT_EQ(report->cases.size(), 6u);
  EXPECT_DOUBLE_EQ(report->cases[0].ours, 2);
  EXPECT_EQ(report->failed(), 1u);  // nobody runs x in half a second
}

TEST_F(ReferenceTest, GandivaKeepsThePairsThatPay) {
  write("/o/single_job_profiles.csv",
        "model,dataset,batchsize,amp,speed,gpu_util,gmem_util,gmem,label\n"
        "A,x,32,0,1,40,20,5000,0\nB,x,32,0,1,60,20,5000,0\nC,x,32,0,1,60,20,20000,0\n");
  write("/o/colocate_pairs.csv",
        ",model1,dataset1,gpu_num1,batchsize1,amp1,speed1,model2,dataset2,gpu_num2,batchsize2,amp2,speed2,gpu_util\n"
        "0,A,x,1,32,0,0.9,B,x,1,32,0,0.8,90\n"    // pays
        "1,A,x,1,32,0,0.5,A,x,1,32,0,0.4,90\n"    // does not
        "2,A,x,1,32,0,0.9,C,x,1,32,0,0.9,90\n");  // does not fit
  const auto report = run("/o");
  ASSERT_TRUE(report.has_value()) << report.error().to_string();
  EXPECT_EQ(report->kind, "colocation");
  ASSERT_EQ(report->cases.size(), 4u);
  // A pair of the classes 1 and 1 does less work than by taking turns.
  EXPECT_EQ(report->cases[2].ours, 1);
  EXPECT_EQ(report->failed(), 1u);
  EXPECT_EQ(report->cases[0].note, "1 of 3 pairs fit and do more work together");
}

// Every policy that was published and that is ours as well is run.
TEST_F(ReferenceTest, PoliciesOfShockwaveAndMuriAreKnownByTheirNames) {
  write("/data/shockwave/dynamic_120.csv",
        "job_type,total_steps,scale_factor,batch_mode,priority_weight,slo,duration_s,arrival_time_s\n"
        "A (batch size 16),1000,1,static,1,-1,100,0\n");
  write("/data/shockwave/tacc_throughputs.json", R"json({"v100": {"('A (batch size 16)', 1)": {"null": 10.0}}})json");
  std::string summary = "policy,kind,avg_jct_s,makespan_s,utilization\n";
  const std::vector<std::string> policies = {"allox", "finish_time_fairness", "max_min_fairness",
                                             "max_sum_throughput_perf", "min_total_duration"};
  for (const std::string& policy : policies) {
    for (const char* kind : {"physical", "simulation"}) summary += policy + "," + kind + ",100,100,1\n";
  }
  write("/o/summary.csv", summary);
  write("/o/jct_list.csv", "policy,kind,index_in_authors_list,jct_s\n");
  const auto shockwave = run("/o");
  ASSERT_TRUE(shockwave.has_value()) << shockwave.error().to_string();
  EXPECT_EQ(shockwave->kind, "shockwave");
  EXPECT_EQ(shockwave->not_run(), 0u);

  write("/data/muri/testbed_trace.csv",
        "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,"
        "resource_time_1,resource_time_2,priority\n0,8,0,100,gpt2,4,5095000,91000,437,0.6,419,49,0\n");
  write("/m/testbed_64xV100.csv",
        "scheduler,jobs,avg_jct_s,makespan_s,p99_jct_s\nMuri-S,1,44,44,44\nMuri-L,1,44,44,44\n");
  const auto muri = run("/m");
  ASSERT_TRUE(muri.has_value()) << muri.error().to_string();
  EXPECT_EQ(muri->not_run(), 0u);
  EXPECT_EQ(muri->failed(), 0u);
}

TEST_F(ReferenceTest, SayWhatIsMissing) {
  write("/o/note.txt", "x");
  EXPECT_FALSE(run("/o").has_value());
  EXPECT_FALSE(run("/nowhere").has_value());
  write("/p/small.expected_end_times.csv", "job_id,fifo\n0,10\n");
  const auto missing = run("/p");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message().find("small.csv"), std::string::npos);
  write("/p/small.csv", "job_id,num_gpu,submit_time_s,duration_s\n0,x,0,10\n");
  write("/p/small.summary.json", R"({"gpus": 2})");
  EXPECT_FALSE(run("/p").has_value());
  write("/q/published_a.csv", "policy\n");
  EXPECT_FALSE(run("/q", "A").has_value());
}

}  // namespace
}  // namespace orrery::lab
