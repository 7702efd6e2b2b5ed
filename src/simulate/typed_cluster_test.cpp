// Clusters with several types of devices.

#include "base/random.h"
#include "schedule/policies/allox.h"
#include "simulate/device_types.h"
#include "simulate/readers/reader.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

RunSetup two_types(int fast, int slow) {
  RunSetup setup = setup_of(0, 0);
  setup.devices = {"fast", "slow"};
  setup.machines = {{.gpus = fast, .device = 0}, {.gpus = slow, .device = 1}};
  return setup;
}

JobTrace read_text(const std::string& text) {
  auto file = read_job_trace(text, "trace");
  EXPECT_TRUE(file.has_value()) << file.error().to_string();
  return file ? std::move(file->job_trace) : JobTrace{};
}

TEST(TypedCluster, AJobTakesTheFastestFreeTypeAndRunsAsLongAsItDoesThere) {
  const JobTrace job_trace = read_text(
      "id,submit_s,duration_s,gpus,duration_s.fast,duration_s.slow\n"
      "a,0,,1,10,30\nb,1,,1,10,30\nc,2,,1,5,\n");
  // a on the fast one until 10, b on the slow one until 31, c runs on the fast type only: 10 to 15.
  EXPECT_EQ(ends_s(run(job_trace, two_types(1, 1), "fifo")), (std::vector<TimeNs>{10, 31, 15}));
  // c is the shortest and takes the fast GPU at 2, until 7. a continues with its 8 s on the slow one, until 26; b,
  // which has done a third of a second there, continues on the fast one from 7 to 16.67.
  EXPECT_EQ(ends_s(run(job_trace, two_types(1, 1), "srtf")), (std::vector<TimeNs>{26, 16, 7}));
}

TEST(TypedCluster, WithoutNamedTypesEveryGpuIsTheFastest) {
  const JobTrace job_trace = read_text("id,submit_s,duration_s,gpus,duration_s.fast,duration_s.slow\na,0,,1,10,30\n");
  EXPECT_EQ(ends_s(run(job_trace, setup_of(1, 1), "fifo")), std::vector<TimeNs>{10});
}

TEST(TypedCluster, AJobForWhichNoTypeHasEnoughGpusIsReported) {
  const JobTrace job_trace =
      read_text("id,submit_s,duration_s,gpus,duration_s.fast,duration_s.slow\na,0,,3,10,30\nb,0,,2,10,30\nc,0,,1,9,\n");
  for (const char* policy : {"fifo", "first-fit", "srtf", "las", "drf", "tetris", "allox", "hydra"}) {
    const RunResult result = run(job_trace, two_types(1, 2), policy);
    EXPECT_EQ(result.too_large, std::vector{JobIndex(0)}) << policy;
    EXPECT_TRUE(result.unfinished.empty()) << policy;
    EXPECT_EQ(ends_s(result)[1], 30) << policy;
  }
}

TEST(TypedCluster, AClusterWithoutAnyOfTheTypesIsRefused) {
  const JobTrace job_trace = read_text("id,submit_s,duration_s,gpus,duration_s.fast\na,0,,1,10\n");
  RunSetup setup = setup_of(1, 1);
  setup.devices = {"A100"};
  const auto refused = run_policy(job_trace, setup, "fifo");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find("A100"), std::string::npos);
  EXPECT_FALSE(run_policy(job_trace, two_types(1, 1), "optimus-ps").has_value());
}

TEST(TypedCluster, OptimusTakesTheFastestTypeFirstAndGrowsOnIt) {
  const JobTrace job_trace = read_text(
      "id,submit_s,duration_s,gpus,duration_s.fast,duration_s.slow\n"
      "a,0,,1,80,160\nb,0,,1,80,160\nc,0,,1,80,160\n");
  RunSetup setup = two_types(2, 4);
  setup.curve.serial_share = 0;
  setup.round_s = 10;
  // a and b have the fast GPUs, and c all four slow ones: 80 s of work at 4 x 0.5 until 40. Then no job leaves the fast
  // ones, which are as good as two slow ones each.
  EXPECT_EQ(ends_s(run(job_trace, setup, "optimus")), (std::vector<TimeNs>{80, 80, 40}));
}

TEST(TypedCluster, GandivaTakesTurnsOnTheLeastLoadedTypeItRunsOn) {
  const JobTrace job_trace = read_text(
      "id,submit_s,duration_s,gpus,duration_s.fast,duration_s.slow\n"
      "a,0,,1,300,600\nb,1,,1,300,600\nc,2,,1,300,\n");
  // c runs on the fast type only and shares it with a, in turns of 60 s: a ends in its fifth, at 540 s; c then has 60 s
  // left and a bit for its late start. b has the slow one for itself, from 1 to 601.
  EXPECT_EQ(ends_s(run(job_trace, two_types(1, 1), "gandiva")), (std::vector<TimeNs>{540, 601, 600}));
}

TEST(TypedCluster, NamesOfDevicesAreComparedWithoutCaseAndUpToTheirVariant) {
  EXPECT_TRUE(is_same_device("v100", "V100"));
  EXPECT_TRUE(is_same_device("v100", "V100-SXM2-16GB"));
  EXPECT_FALSE(is_same_device("V100", "V1000"));
  EXPECT_FALSE(is_same_device("", "V100"));
}

// Jobs with times on three types that differ from job to job, some on two types only.
JobTrace random_job_trace(std::uint64_t seed, bool gangs, bool deadlines) {
  Random random(seed);
  std::string text = "id,submit_s,duration_s,gpus,deadline_s,duration_s.a,duration_s.b,duration_s.c\n";
  double submit = 0;
  for (int j = 0; j < 80; ++j) {
    submit += random.exponential(40);
    const double length = std::exp(random.uniform(2, 7));
    const int gpus = gangs && random.uniform() < 0.2 ? 2 : 1;
    text += "j" + std::to_string(j) + "," + std::to_string(submit) + ",," + std::to_string(gpus) + ",";
    if (deadlines && random.uniform() < 0.4) text += std::to_string(submit + length * random.uniform(2, 20));
    for (int type = 0; type < 3; ++type) {
      text += ",";
      if (type == 0 || random.uniform() < 0.8) text += std::to_string(length * random.uniform(0.5, 2));
    }
    text += "\n";
  }
  return read_text(text);
}

RunSetup three_types() {
  RunSetup setup = setup_of(0, 0);
  setup.devices = {"a", "b", "c"};
  setup.machines = {
      {.gpus = 2, .device = 0}, {.gpus = 2, .device = 1}, {.gpus = 1, .device = 2}, {.gpus = 2, .device = 2}};
  return setup;
}

TEST(TypedCluster, EveryPolicyThatKnowsTypesEndsEveryJobInTheTimeItTakesThere) {
  const std::vector<std::string> policies = {"fifo",  "first-fit", "sjf",     "srtf",     "srsf", "edf",
                                             "las",   "priority",  "gittins", "tiresias", "drf",  "tetris",
                                             "allox", "hydra",     "gandiva", "optimus"};
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const JobTrace job_trace = random_job_trace(seed, true, true);
    RunSetup setup = three_types();
    setup.engine.keep_holdings = true;
    // Twice the GPUs, twice the work: what Optimus does can be added up as well.
    setup.curve.serial_share = 0;
    if (seed % 2 == 1) setup.engine.age_ns = schedule::from_seconds(600);
    if (seed % 4 >= 2) setup.engine.min_run_ns = schedule::from_seconds(100);
    for (const std::string& policy : policies) {
      const RunResult result = run(job_trace, setup, policy);
      EXPECT_TRUE(result.unfinished.empty()) << policy << " seed " << seed;
      EXPECT_TRUE(result.too_large.empty()) << policy << " seed " << seed;
      // Work done is time on each type times the speed there.
      IndexedVector<JobIndex, double> done(job_trace.jobs.size(), 0);
      for (const Holding& held : result.holdings) {
        const JobFacts& facts = job_trace.jobs[held.job].facts;
        const auto type = static_cast<std::size_t>(setup.machines[held.machine].device);
        const double speed = job_trace.speeds[static_cast<std::size_t>(facts.speed_class)][type];
        done[held.job] += speed * static_cast<double>(held.to_ns - held.from_ns) * held.gpus / facts.gpus;
      }
      for (const JobIndex j : done.indices()) {
        EXPECT_NEAR(done[j], static_cast<double>(job_trace.jobs[j].facts.work_ns), 1e4)
            << policy << " job " << j.value();
      }
    }
  }
}

double mean_s(const JobTrace& job_trace, const RunResult& result) {
  double sum = 0;
  for (const JobIndex j : result.jobs.indices()) {
    sum += schedule::to_seconds(result.jobs[j].end_ns - job_trace.jobs[j].facts.submit_ns);
  }
  return sum / static_cast<double>(result.jobs.size());
}

TEST(OnlineAllox, StartsWhatTheBatchPlanPutsFirst) {
  // All jobs are there at once and all GPUs are free: the first starts are the first of the plan's queues.
  JobTrace job_trace = random_job_trace(5, false, false);
  for (TraceJob& job : job_trace.jobs) job.facts.submit_ns = 0;
  RunSetup setup = three_types();
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace, setup, "allox");
  schedule::BatchProblem problem;
  problem.machines = {2, 2, 3};
  for (const TraceJob& job : job_trace.jobs) {
    schedule::BatchJob& planned = problem.jobs.emplace_back();
    for (const double speed : job_trace.speeds[static_cast<std::size_t>(job.facts.speed_class)]) {
      const double left = schedule::to_seconds(job.facts.work_ns);
      planned.runtime_s.push_back(speed > 0 ? left / speed : schedule::kNoDeadline);
    }
  }
  const auto queues = schedule::solve_allox(problem);
  ASSERT_TRUE(queues.has_value());
  std::vector<JobIndex> planned, started;
  for (const schedule::BatchQueue& queue : *queues) planned.push_back(JobIndex(queue.jobs.front()));
  for (const LoggedDecision& entry : result.log) {
    if (entry.at_ns == 0) started.push_back(entry.decision.job);
  }
  EXPECT_EQ(started, planned);
}

TEST(OnlineAllox, OnOneTypeItIsShortestFirst) {
  JobTrace job_trace = job_trace_of({});
  Random random(3);
  for (int j = 0; j < 120; ++j) {
    const int gpus = random.uniform() < 0.2 ? 2 + static_cast<int>(random.below(3)) : 1;
    job_trace.jobs.push_back(job_of(j, 1 + static_cast<double>(random.below(500)), gpus));
  }
  const RunSetup setup = setup_of(2, 2);
  EXPECT_EQ(ends_s(run(job_trace, setup, "allox")), ends_s(run(job_trace, setup, "sjf")));
}

TEST(OnlineAllox, HasAShorterMeanThanArrivalOrder) {
  for (std::uint64_t seed = 20; seed < 24; ++seed) {
    JobTrace job_trace = random_job_trace(seed, false, false);
    for (TraceJob& job : job_trace.jobs) job.facts.submit_ns /= 8;  // so that jobs wait
    EXPECT_LT(mean_s(job_trace, run(job_trace, three_types(), "allox")),
              mean_s(job_trace, run(job_trace, three_types(), "fifo")));
  }
}

TEST(OnlineHydra, OverrunsDeadlinesLessThanAllox) {
  double hydra = 0, allox = 0;
  for (std::uint64_t seed = 30; seed < 36; ++seed) {
    const JobTrace job_trace = random_job_trace(seed, false, true);
    const auto overrun = [&](const RunResult& result) {
      double sum = 0;
      for (const JobIndex j : result.jobs.indices()) {
        const TimeNs deadline = job_trace.jobs[j].facts.deadline_ns;
        if (deadline != kNever) sum += schedule::to_seconds(std::max<TimeNs>(0, result.jobs[j].end_ns - deadline));
      }
      return sum;
    };
    hydra += overrun(run(job_trace, three_types(), "hydra"));
    allox += overrun(run(job_trace, three_types(), "allox"));
  }
  EXPECT_LT(hydra, allox);
}

TEST(Readers, TimesByTypeComeBackFromOurOwnForms) {
  const JobTrace job_trace = random_job_trace(7, true, true);
  for (const std::string& text : {to_csv(job_trace), to_jsonl(job_trace)}) {
    const JobTrace again = read_text(text);
    ASSERT_EQ(again.jobs.size(), job_trace.jobs.size());
    ASSERT_EQ(again.devices, job_trace.devices);
    for (const JobIndex j : job_trace.jobs.indices()) {
      const auto& before = job_trace.speeds[static_cast<std::size_t>(job_trace.jobs[j].facts.speed_class)];
      const auto& after = again.speeds[static_cast<std::size_t>(again.jobs[j].facts.speed_class)];
      for (std::size_t d = 0; d < before.size(); ++d) EXPECT_NEAR(before[d], after[d], 1e-6);
    }
  }
}

TEST(Readers, HydraCasesHaveATimeOnEachType) {
  const JobTrace job_trace =
      read_text(",job_name,norm_job_submit_time,ddl,A100,V100\n0,x,0,7767.0,2141.0,3621.0\n1,y,0,inf,434.0,217.0\n");
  ASSERT_EQ(job_trace.jobs.size(), 2u);
  EXPECT_EQ(job_trace.devices, (std::vector<std::string>{"A100", "V100"}));
  EXPECT_EQ(job_trace.jobs[JobIndex(0)].facts.deadline_ns, schedule::from_seconds(7767));
  EXPECT_EQ(job_trace.jobs[JobIndex(1)].facts.deadline_ns, kNever);
  EXPECT_EQ(job_trace.jobs[JobIndex(1)].facts.work_ns, schedule::from_seconds(217));
  EXPECT_DOUBLE_EQ(job_trace.speeds[2][0], 0.5);
}

}  // namespace
}  // namespace orrery::simulate
