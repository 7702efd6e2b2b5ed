#include "simulate/live_inputs.h"

#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

constexpr TimeNs kSecond = schedule::kSecondNs;

StepTimes one_model(double on_one_s, double on_two_s) {
  StepTimes times;
  times.add("net", 0, std::make_shared<const schedule::StepCurve>(std::map<int, double>{{1, on_one_s}, {2, on_two_s}}));
  return times;
}

TEST(StepTimes, AreMeansByModelBatchAndGpus) {
  const auto times =
      StepTimes::parse("model,gpus,step_s,batch\nnet,1,3,\nnet,1,5,\nnet,4,1,\nnet,1,8,64\nother,2,1,\n", "steps.csv");
  ASSERT_TRUE(times.has_value()) << times.error().to_string();
  JobTrace job_trace = job_trace_of({job_of(0, 1, 1), job_of(1, 1, 2), job_of(2, 1, 1)});
  job_trace.jobs[JobIndex(0)].model = job_trace.jobs[JobIndex(1)].model = "net";
  const JobCurves curves = times->curves_of(job_trace);
  EXPECT_DOUBLE_EQ(curves[JobIndex(0)]->step_s(1), 4);  // batch 32
  EXPECT_DOUBLE_EQ(curves[JobIndex(0)]->step_s(2), 2);
  EXPECT_DOUBLE_EQ(curves[JobIndex(1)]->step_s(1), 8);  // batch 64, on two GPUs
  EXPECT_EQ(curves[JobIndex(2)], nullptr);              // no model
}

TEST(StepTimes, NameTheLineOfAMistake) {
  const auto error_of = [](const char* csv) {
    const auto times = StepTimes::parse(csv, "steps.csv");
    return times ? std::string("none") : times.error().message();
  };
  EXPECT_NE(error_of("model,gpus\n").find("steps.csv:1: no column \"step_s\""), std::string::npos);
  EXPECT_NE(error_of("model,gpus,step_s\nnet,1,1\nnet,0,1\n").find("steps.csv:3: gpus"), std::string::npos);
  EXPECT_NE(error_of("model,gpus,step_s\nnet,1,-1\n").find("steps.csv:2: step_s"), std::string::npos);
  EXPECT_NE(error_of("model,gpus,step_s\n,1,1\n").find("steps.csv:2: model"), std::string::npos);
}

TEST(MeasuredSteps, DecideHowFastJobsAre) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 1)});
  job_trace.jobs[JobIndex(0)].model = "net";
  job_trace.jobs[JobIndex(0)].facts.gpus_max = 2;
  RunSetup setup = setup_of(1, 2);
  setup.step_times = one_model(10, 8);
  // On both GPUs from the first round on: 8 / 10 of the time.
  EXPECT_EQ(ends_s(run(job_trace, setup, "flow")), std::vector<TimeNs>{800});
}

// What a policy sees of the work of each job, when it is called.
std::vector<std::vector<double>> seen_work(const JobTrace& job_trace, const StepTimes& predicted) {
  struct Watcher : schedule::Policy {
    explicit Watcher(std::vector<std::vector<double>>& seen) : seen_(seen) {}
    std::string_view name() const override { return "watcher"; }
    void decide(const schedule::ClusterView& view, const schedule::Event& event,
                std::vector<schedule::Decision>& decisions) override {
      std::vector<double> work;
      for (const JobIndex job : view.known_jobs()) {
        work.push_back(view.knows_work(job) ? schedule::to_seconds(view.facts(job).work_ns) : -1);
      }
      seen_.push_back(work);
      for (const JobIndex job : event.arrived) {
        decisions.push_back({.job = job, .allocation = {{MachineIndex(static_cast<std::int32_t>(job.place())), 1}}});
      }
    }
    void exchange(schedule::StateArchive&) override {}
    void adopt(const schedule::ClusterView&) override {}
    std::vector<std::vector<double>>& seen_;
  };
  std::vector<std::vector<double>> seen;
  EngineOptions options;
  options.live.emplace();
  const JobCurves curves = predicted.curves_of(job_trace);
  options.predicted = &curves;
  const schedule::Machines machines = {{.gpus = 1}, {.gpus = 1}, {.gpus = 1}};
  const auto make = [&](const schedule::ClusterView&) -> Result<std::unique_ptr<schedule::Policy>> {
    return std::make_unique<Watcher>(seen);
  };
  const auto result = simulate(job_trace, machines, CurveSpeed({}), make, options);
  EXPECT_TRUE(result.has_value()) << result.error().to_string();
  return seen;
}

TEST(LiveInputs, WorkIsPredictedUntilStepsAreMeasured) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 1)});
  TraceJob& job = job_trace.jobs[JobIndex(0)];
  job.model = "net";
  job.steps = 500;  // of really 2 s
  const auto seen = seen_work(job_trace, one_model(3, 2));
  ASSERT_EQ(seen.size(), 3u);  // it comes, has run for a minute, ends
  EXPECT_DOUBLE_EQ(seen[0][0], 1500);
  EXPECT_NEAR(seen[1][0], 1000, 1e-6);
}

TEST(LiveInputs, WithoutAPredictionLikeJobsThenTheLimitSayIt) {
  JobTrace job_trace = job_trace_of({job_of(0, 100, 1), job_of(1, 1000, 1), job_of(200, 50, 1)});
  job_trace.jobs[JobIndex(1)].time_limit_ns = 5000 * kSecond;
  const auto seen = seen_work(job_trace, {});
  EXPECT_DOUBLE_EQ(seen[0][0], -1);    // nothing is known
  EXPECT_DOUBLE_EQ(seen[1][1], 5000);  // its limit
  const auto third = std::find_if(seen.begin(), seen.end(), [](const auto& work) { return work.size() == 3; });
  ASSERT_NE(third, seen.end());
  EXPECT_DOUBLE_EQ((*third)[2], 100);  // as the one that has ended
}

TEST(LiveInputs, AJobThatOutlivesItsEstimateHasAsMuchLeftAsItHasDone) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 1)});
  job_trace.jobs[JobIndex(0)].time_limit_ns = 300 * kSecond;
  const auto seen = seen_work(job_trace, {});
  std::vector<double> work;
  for (const auto& one : seen) work.push_back(std::round(one[0]));
  EXPECT_EQ(work, (std::vector<double>{300, 300, 600, 1200, 1200}));
}

TEST(LiveInputs, EveryPolicyThatOrdersByWorkEndsJobsOfUnknownWork) {
  IndexedVector<JobIndex, TraceJob> jobs;
  for (int i = 0; i < 12; ++i) jobs.push_back(job_of(10.0 * i, 100.0 * (1 + i * 7 % 5), 1 + i % 2));
  const JobTrace job_trace = job_trace_of(std::move(jobs));
  for (const schedule::PolicyRecord& policy : runnable_policies()) {
    RunSetup setup = setup_of(1, 4);
    setup.engine.live.emplace();
    setup.scaling = ScalingKnowledge::kPredicted;
    if (policy.name == "gavel-packed") continue;  // it needs the speeds of pairs
    const RunResult result = run(job_trace, setup, policy.name);
    EXPECT_TRUE(result.unfinished.empty()) << policy.name;
  }
}

}  // namespace
}  // namespace orrery::simulate
