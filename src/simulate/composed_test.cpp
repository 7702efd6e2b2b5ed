// Ageing and minimum run times under every policy, stragglers and changes of batch.

#include <map>

#include "simulate/generate.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

constexpr TimeNs kSecond = schedule::kSecondNs;

JobTrace crowded(std::uint64_t seed) {
  return generate({.jobs = 150, .rate_per_h = 400, .seed = seed});
}

TEST(Ageing, AJobThatWaitedLongEnoughGetsTheNextGpu) {
  // Short jobs keep one GPU busy without a gap; the long one would be the last.
  IndexedVector<JobIndex, TraceJob> jobs = {job_of(0, 10, 1), job_of(0, 100, 1)};
  for (int i = 1; i < 30; ++i) jobs.push_back(job_of(10 * i - 5, 10, 1));
  const JobTrace job_trace = job_trace_of(std::move(jobs));
  RunSetup setup = setup_of(1, 1);
  EXPECT_EQ(ends_s(run(job_trace, setup, "srtf"))[1], 400);
  setup.engine.age_ns = 45 * kSecond;
  const RunResult aged = run(job_trace, setup, "srtf");
  // It has waited 45 s at 45; the job that runs then ends at 50.
  EXPECT_EQ(aged.jobs[JobIndex(1)].first_start_ns, 50 * kSecond);
  EXPECT_EQ(ends_s(aged)[1], 150);
  EXPECT_TRUE(aged.unfinished.empty());
}

TEST(Ageing, AGangCollectsGpusAsTheyBecomeFree) {
  IndexedVector<JobIndex, TraceJob> jobs = {job_of(0, 30, 1), job_of(0, 45, 1), job_of(1, 20, 2)};
  for (int i = 0; i < 20; ++i) jobs.push_back(job_of(2, 20, 1));
  RunSetup setup = setup_of(2, 1);
  setup.engine.age_ns = 25 * kSecond;
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace_of(std::move(jobs)), setup, "first-fit");
  // Aged at 26. One GPU is kept from 30 on, the other from 45 on.
  EXPECT_EQ(result.jobs[JobIndex(2)].first_start_ns, 45 * kSecond);
  EXPECT_TRUE(result.unfinished.empty());
  const bool said = std::any_of(result.log.begin(), result.log.end(), [](const LoggedDecision& entry) {
    return entry.decision.job == JobIndex(2) && entry.decision.reason.why == schedule::Why::kAged;
  });
  EXPECT_TRUE(said);
}

TEST(Ageing, UnderEveryPolicyEveryJobEnds) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const JobTrace job_trace = crowded(seed);
    RunSetup setup = setup_of(3, 8);
    setup.engine.age_ns = 1800 * kSecond;
    setup.engine.costs.checkpoint_ns = 60 * kSecond;
    for (int i = 0; i < 6; ++i) {
      setup.engine.outages.push_back({(600 + 1500 * i) * kSecond, (900 + 1500 * i) * kSecond, MachineIndex(i % 3)});
    }
    for (const schedule::PolicyRecord& policy : runnable_policies()) {
      const RunResult result = run(job_trace, setup, policy.name);
      EXPECT_TRUE(result.unfinished.empty()) << policy.name << " seed " << seed;
      ASSERT_EQ(result.jobs.size(), job_trace.jobs.size()) << policy.name;
      EXPECT_LE(result.busy_gpu_ns, 24.0 * static_cast<double>(result.makespan_ns) * (1 + 1e-9)) << policy.name;
    }
  }
}

TEST(MinimumRun, HoldsUnderEveryPolicy) {
  for (std::uint64_t seed = 3; seed <= 4; ++seed) {
    const JobTrace job_trace = crowded(seed);
    RunSetup setup = setup_of(3, 8);
    setup.engine.min_run_ns = 700 * kSecond;
    setup.engine.keep_log = true;
    for (const schedule::PolicyRecord& policy : runnable_policies()) {
      const RunResult result = run(job_trace, setup, policy.name);
      EXPECT_TRUE(result.unfinished.empty()) << policy.name;
      std::map<JobIndex, TimeNs> started;
      for (const LoggedDecision& entry : result.log) {
        const bool suspends = entry.decision.action == schedule::Action::kSuspend;
        if (suspends) {
          EXPECT_GE(entry.at_ns - started[entry.decision.job], 700 * kSecond) << policy.name;
        } else {
          started[entry.decision.job] = entry.at_ns;
        }
      }
    }
  }
}

TEST(MinimumRun, PreemptionHappensWhenItIsOver) {
  const JobTrace job_trace = job_trace_of({job_of(0, 100, 1), job_of(4, 2, 1)});
  RunSetup setup = setup_of(1, 1);
  EXPECT_EQ(ends_s(run(job_trace, setup, "srtf")), (std::vector<TimeNs>{102, 6}));
  setup.engine.min_run_ns = 30 * kSecond;
  EXPECT_EQ(ends_s(run(job_trace, setup, "srtf")), (std::vector<TimeNs>{102, 32}));
}

TEST(Stragglers, SlowJobsDownUntilOptimusReplacesThem) {
  const JobTrace job_trace = job_trace_of({job_of(0, 4000, 1)});
  RunSetup setup = setup_of(1, 1);
  setup.engine.stragglers = {.probability = 0.5, .slowdown = 4};
  setup.round_s = 600;
  // Some seed has a slow worker at the first start: FIFO keeps it to the end.
  bool slow = false;
  for (std::uint64_t seed = 1; seed <= 20 && !slow; ++seed) {
    setup.engine.seed = seed;
    slow = ends_s(run(job_trace, setup, "fifo"))[0] == 16'000;
  }
  ASSERT_TRUE(slow);
  const RunResult replaced = run(job_trace, setup, "optimus");
  EXPECT_GE(replaced.jobs[JobIndex(0)].moves, 1);
  EXPECT_LT(ends_s(replaced)[0], 16'000);
}

TEST(Stragglers, LessThanHalfTheSpeedIsSlow) {
  // A worker at two thirds of the median is not replaced.
  const JobTrace job_trace = job_trace_of({job_of(0, 4000, 1)});
  RunSetup setup = setup_of(1, 1);
  setup.engine.stragglers = {.probability = 0.999, .slowdown = 1.5};
  EXPECT_EQ(run(job_trace, setup, "optimus").jobs[JobIndex(0)].moves, 0);
}

// Starts the first job at once and doubles its batch at the next event.
class LargerBatch : public schedule::Policy {
 public:
  std::string_view name() const override { return "larger-batch"; }
  void decide(const schedule::ClusterView& view, const schedule::Event&,
              std::vector<schedule::Decision>& decisions) override {
    const JobIndex first(0);
    if (!view.is_running(first) && view.progress(first).starts == 0) {
      decisions.push_back({.job = first, .allocation = {{MachineIndex(0), 2}}});
    } else if (view.is_running(first) && view.progress(first).batch_factor == 1) {
      decisions.push_back({.action = schedule::Action::kSetBatch,
                           .job = first,
                           .batch_factor = 2,
                           .reason = {schedule::Why::kLargerBatch, 2, 1}});
    }
  }
  TimeNs wake_at_ns() const override { return 50 * kSecond; }
  void exchange(schedule::StateArchive&) override {}
  void adopt(const schedule::ClusterView&) override {}
};

TEST(Engine, ALargerBatchChangesTheRateFromThenOn) {
  CurveOptions curve;
  curve.serial_share = 0.2;
  curve.noise_scale = 8;
  // On two GPUs a step has 0.4 parallel and 0.2 serial. With twice the batch: 2 * 0.6 / (0.8 + 0.2) = 1.2 times the
  // samples, each worth 9/10: 1.08 times as fast. 100 s of work: 50 s, then 50 / 1.08 = 46.296 s.
  const JobTrace job_trace = job_trace_of({job_of(0, 100, 2)});
  const auto result = simulate(job_trace, {{.gpus = 2}}, CurveSpeed(curve),
                               [](const schedule::ClusterView&) -> Result<std::unique_ptr<schedule::Policy>> {
                                 return std::make_unique<LargerBatch>();
                               });
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  EXPECT_NEAR(schedule::to_seconds(result->jobs[JobIndex(0)].end_ns), 96.2963, 1e-3);
}

TEST(Engine, GandivaGrowsJobsIntoIdleGpusAndShrinksThemWhenOthersCome) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 2), job_of(300, 100, 2)});
  job_trace.jobs[JobIndex(0)].facts.gpus_max = 4;
  RunSetup setup = setup_of(1, 4);
  setup.curve.serial_share = 0;
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace, setup, "gandiva");
  // Idle for a minute, then four GPUs from 60 s on; back to two at 300 s; four again when the other has gone.
  std::vector<std::pair<TimeNs, int>> sizes;
  for (const LoggedDecision& entry : result.log) {
    if (entry.decision.job == JobIndex(0))
      sizes.emplace_back(entry.at_ns / kSecond, schedule::gpus_in(entry.decision.allocation));
  }
  EXPECT_EQ(sizes, (std::vector<std::pair<TimeNs, int>>{{0, 2}, {60, 4}, {300, 2}, {400, 4}}));
  // 60 + 2 * 240 + 100 = 640 s of work until 400 s; the other 360 take 180 s.
  EXPECT_EQ(ends_s(result), (std::vector<TimeNs>{580, 400}));
}

TEST(Engine, GandivaGivesGpusBackThatMakeAJobNoFaster) {
  JobTrace job_trace = job_trace_of({job_of(0, 1000, 2)});
  job_trace.jobs[JobIndex(0)].facts.gpus_max = 4;
  RunSetup setup = setup_of(1, 4);
  setup.curve.serial_share = 1;
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace, setup, "gandiva");
  ASSERT_EQ(result.log.size(), 3u);
  EXPECT_EQ(result.log[2].at_ns, 120 * kSecond);
  EXPECT_EQ(schedule::gpus_in(result.log[2].decision.allocation), 2);
}

}  // namespace
}  // namespace orrery::simulate
