#include "simulate/readers/reader.h"

#include <gtest/gtest.h>

#include "simulate/generate.h"
#include "simulate/readers/dates.h"

namespace orrery::simulate {
namespace {

JobTraceFile read(std::string_view text, const ReadOptions& options = {}) {
  auto result = read_job_trace(text, "trace", options);
  EXPECT_TRUE(result.has_value()) << result.error().to_string();
  return result ? std::move(*result) : JobTraceFile{};
}

double length_s(const JobTraceFile& file, int job) {
  return schedule::to_seconds(file.job_trace.jobs[JobIndex(job)].facts.work_ns);
}
double submit_s(const JobTraceFile& file, int job) {
  return schedule::to_seconds(file.job_trace.jobs[JobIndex(job)].facts.submit_ns);
}

TEST(Readers, RecogniseEveryForm) {
  struct Sample {
    std::string_view format, text;
    int gpus;
    double length;
  };
  const Sample samples[] = {
      {"own", "id,submit_s,duration_s,gpus\na,0,5.5,2\n", 2, 5.5},
      {"philly", "timestamp,duration,num_gpus,gpu_time,cluster\n2017-09-04 10:30:41,64.0,4,256.0,7f04ca\n", 4, 64},
      {"helios",
       "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
       "7,u1,vcA,8,32,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:02:00,100,10\n",
       8, 100},
      {"pai", "j1,worker,2,Terminated,100,400,600,29.3,50,T4\n", 2, 300},
      {"alibaba-2023",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
       "openb-pod-0001,6000,12288,1,460,,LS,Running,10,90,30\n",
       1, 60},
      {"muri",
       "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,"
       "resource_time_1,resource_time_2,priority\n0,8,0,100,gpt2,4,5095000,91000,437,0.6,419,49,0\n",
       8, 43.7},
      {"elasticflow",
       "job_id,submit_time,real_iteration,model_name,ddl,batch_size,num_gpu,real_duration,duration,iteration\n"
       "1,0,26446831,vgg16,2065619,64,4,1792395,1792395,26446831\n",
       4, 1'792'395},
      {"tiresias", "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,606,vgg19,164,30\n", 1,
       164},
      {"tiresias-s", "job_id,num_gpu,submit_time_s,duration_s\n0,4,0,104628\n", 4, 104628},
      {"swf", "; Version: 2\n1 0 5 3600 16 -1 -1 32 7200 -1 1 3 1 -1 1 -1 -1 -1\n", 32, 3600},
      {"sacct",
       "JobID|User|Submit|Start|End|Elapsed|AllocTRES\n"
       "12|ann|2024-05-01T10:00:00|2024-05-01T10:05:00|2024-05-02T11:05:00|1-01:00:00|cpu=8,gres/gpu=2,node=1\n"
       "12.batch||2024-05-01T10:05:00|2024-05-01T10:05:00|2024-05-02T11:05:00|1-01:00:00|cpu=8,gres/gpu=2\n"
       "13|ann|2024-05-01T10:00:00|2024-05-01T10:05:00|2024-05-02T11:05:00|01:00:00|cpu=8\n",
       2, 90'000},
      {"jsonl", "{\"id\": 5, \"submit_s\": 3, \"duration_s\": 7, \"gpus\": 3}\n", 3, 7},
  };
  for (const Sample& sample : samples) {
    const JobTraceFile file = read(sample.text);
    EXPECT_EQ(file.format, sample.format);
    ASSERT_EQ(file.job_trace.jobs.size(), 1u) << sample.format;
    EXPECT_EQ(file.job_trace.jobs[JobIndex(0)].facts.gpus, sample.gpus) << sample.format;
    EXPECT_DOUBLE_EQ(length_s(file, 0), sample.length) << sample.format;
    EXPECT_EQ(file.skipped, 0u) << sample.format;
    EXPECT_EQ(submit_s(file, 0), 0) << sample.format;
  }
}

TEST(Readers, DeadlinesOfElasticFlowAreRead) {
  const JobTraceFile file = read(
      "job_id,submit_time,real_iteration,model_name,ddl,batch_size,num_gpu,real_duration,duration,iteration\n"
      "0,100,10,vgg16,700,256,1,500,500,10\n1,300,10,vgg16,,256,1,500,500,10\n");
  ASSERT_EQ(file.job_trace.jobs.size(), 2u);
  // Times begin at the first submission.
  EXPECT_EQ(file.job_trace.jobs[JobIndex(0)].facts.deadline_ns, schedule::from_seconds(600));
  EXPECT_EQ(file.job_trace.jobs[JobIndex(1)].facts.deadline_ns, kNever);
  EXPECT_EQ(file.unread, (std::vector<std::string>{"real_iteration", "batch_size", "real_duration", "iteration"}));
}

TEST(Readers, PodsThatWereNeverScheduledAreNoJobs) {
  const JobTraceFile file = read(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
      "p1,6000,12288,1,460,,LS,Running,10,90,30\np2,6000,12288,1,1000,,BE,Pending,10,90,\n"
      "p3,6000,12288,0,0,,BE,Pending,10,90,\n");
  ASSERT_EQ(file.job_trace.jobs.size(), 1u);
  EXPECT_EQ(file.skipped, 1u);
  EXPECT_EQ(file.not_jobs, 1u);
  EXPECT_NE(file.problems.at(0).what.find("never scheduled"), std::string::npos);
}

TEST(Readers, GavelNeedsSpeedsAndNamesMissingOnes) {
  const std::string text =
      "job_type,total_steps,scale_factor,priority_weight,slo,arrival_time_s\n"
      "ResNet-18 (batch size 16),100,1,1,-1,0\nResNet-18 (batch size 16),100,4,1,-1,5\n";
  EXPECT_FALSE(read_job_trace(text, "trace").has_value());
  ReadOptions options;
  auto speeds = SpeedTable::parse("{\"v100\": {\"('ResNet-18 (batch size 16)', 1)\": {\"null\": 4.0}}}");
  ASSERT_TRUE(speeds.has_value());
  options.speeds = *speeds;
  const JobTraceFile file = read(text, options);
  ASSERT_EQ(file.job_trace.jobs.size(), 1u);
  EXPECT_DOUBLE_EQ(length_s(file, 0), 25);
  ASSERT_EQ(file.problems.size(), 1u);
  EXPECT_EQ(file.problems[0].line, 3u);
  EXPECT_NE(file.problems[0].what.find("on 4 GPUs"), std::string::npos);
}

TEST(Readers, BadRowsAreSkippedWithTheirLine) {
  const std::string text =
      "id,submit_s,duration_s,gpus\n"
      "a,0,10,1\n"     // 2: fine
      "b,0,0,1\n"      // 3: no length
      "a,1,10,1\n"     // 4: twice
      "c,1,-5,1\n"     // 5: backwards
      "d,1,10,1.5\n"   // 6: part of a GPU
      "e,one,10,1\n"   // 7: no number
      "f,1\n"          // 8: too short
      "\"g,1,10,1\n";  // 9: a quote that never ends
  const JobTraceFile file = read(text);
  EXPECT_EQ(file.job_trace.jobs.size(), 1u);
  EXPECT_EQ(file.skipped, 7u);
  EXPECT_EQ(file.rows, 8u);
  ASSERT_EQ(file.problems.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(file.problems[i].line, i + 3);
  const auto strict = read_job_trace(text, "trace.csv", {.strict = true});
  ASSERT_FALSE(strict.has_value());
  EXPECT_EQ(strict.error().message(), "trace.csv:3: duration: the job has no length");
}

TEST(Readers, SortWhatWasNotInOrder) {
  const JobTraceFile file = read("id,submit_s,duration_s,gpus\na,100,1,1\nb,40,2,1\n");
  EXPECT_TRUE(file.out_of_order);
  EXPECT_EQ(file.job_trace.jobs[JobIndex(0)].id, "b");
  EXPECT_EQ(submit_s(file, 0), 0);
  EXPECT_EQ(submit_s(file, 1), 60);
}

TEST(Readers, SayWhatIsWrongWithAFile) {
  const auto unknown = read_job_trace("a,b,c\n1,2,3\n", "x.csv");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message().find("x.csv:1"), std::string::npos);
  EXPECT_FALSE(read_job_trace("", "x.csv").has_value());
  EXPECT_FALSE(read_job_trace("id,submit_s,duration_s,gpus\n", "x.csv").has_value());
  const auto form = read_job_trace("id,submit_s,duration_s,gpus\na,1,1,1\n", "x.csv", {.format = "phily"});
  ASSERT_FALSE(form.has_value());
  EXPECT_NE(form.error().message().find("philly"), std::string::npos);
}

TEST(Readers, OurOwnFormsGiveTheSameJobsBack) {
  for (const Mix mix : {Mix::kPhilly, Mix::kOptimus, Mix::kPolimi}) {
    GenerateOptions options;
    options.jobs = 50;
    options.mix = mix;
    const JobTrace job_trace = generate(options);
    for (const std::string& text : {to_csv(job_trace), to_jsonl(job_trace)}) {
      const JobTraceFile file = read(text, {.strict = true});
      ASSERT_EQ(file.job_trace.jobs.size(), 50u);
      for (const JobIndex j : job_trace.jobs.indices()) {
        const JobFacts &a = job_trace.jobs[j].facts, &b = file.job_trace.jobs[j].facts;
        EXPECT_EQ(job_trace.jobs[j].id, file.job_trace.jobs[j].id);
        EXPECT_EQ(a.gpus, b.gpus);
        EXPECT_NEAR(static_cast<double>(a.work_ns), static_cast<double>(b.work_ns), 1e3);
        EXPECT_EQ(a.deadline_ns == kNever, b.deadline_ns == kNever);
      }
    }
  }
}

TEST(Readers, StagesComeBackFromOurOwnForms) {
  JobTrace job_trace = generate({.jobs = 2});
  const schedule::StageTimes stages = {.load_s = 0.25, .gpu_s = 0.5, .network_s = 0.125, .iteration_s = 0.75};
  job_trace.jobs[JobIndex(1)].facts.stages = schedule::shared_stages(stages);
  for (const std::string& text : {to_csv(job_trace), to_jsonl(job_trace)}) {
    const JobTraceFile file = read(text, {.strict = true});
    EXPECT_EQ(file.job_trace.jobs[JobIndex(0)].facts.stages, nullptr);
    ASSERT_NE(file.job_trace.jobs[JobIndex(1)].facts.stages, nullptr);
    EXPECT_EQ(*file.job_trace.jobs[JobIndex(1)].facts.stages, stages);
  }
  // Stages without the iteration they are of.
  EXPECT_EQ(read("id,submit_s,duration_s,gpus,stage_s.gpu\na,0,5,2,1\nb,0,5,2,\n").skipped, 1u);
}

TEST(Readers, MurisStagesAreInMilliseconds) {
  const JobTraceFile file = read(
      "job_id,num_gpu,submit_time,iterations,model_name,iteration_time,resource_time_0,resource_time_1,resource_time_"
      "2\n"
      "0,8,0,100,gpt2,500,250,125,62.5\n");
  const schedule::StageTimes expected = {.load_s = 0.25, .gpu_s = 0.125, .network_s = 0.0625, .iteration_s = 0.5};
  ASSERT_EQ(file.job_trace.jobs.size(), 1u);
  ASSERT_NE(file.job_trace.jobs[JobIndex(0)].facts.stages, nullptr);
  EXPECT_EQ(*file.job_trace.jobs[JobIndex(0)].facts.stages, expected);
}

TEST(Generate, GivesTheRateAndTheSameJobsAgain) {
  for (const Arrivals arrivals : {Arrivals::kPoisson, Arrivals::kDiurnal, Arrivals::kBursts}) {
    GenerateOptions options;
    options.jobs = 20'000;
    options.rate_per_h = 120;
    options.arrivals = arrivals;
    const JobTrace job_trace = generate(options);
    const double hours = schedule::to_seconds(job_trace.jobs.back().facts.submit_ns) / 3600;
    EXPECT_NEAR(20'000 / hours, 120, 6);
    EXPECT_EQ(to_csv(job_trace), to_csv(generate(options)));
  }
}

TEST(Dates, AreReadAsLogsWriteThem) {
  EXPECT_EQ(parse_date_s("1970-01-02"), 86'400);
  EXPECT_EQ(parse_date_s("1970-01-01T01:00:00Z"), 3600);
  EXPECT_EQ(parse_date_s("2017-09-04 10:30:41"), 1504521041);
  EXPECT_FALSE(parse_date_s("2017-02-30 10:30:41"));
  EXPECT_FALSE(parse_date_s("yesterday"));
  EXPECT_EQ(parse_elapsed_s("1-02:03:04"), 93'784);
  EXPECT_EQ(parse_elapsed_s("03:04.500"), 184.5);
  EXPECT_FALSE(parse_elapsed_s("4"));
}

}  // namespace
}  // namespace orrery::simulate
