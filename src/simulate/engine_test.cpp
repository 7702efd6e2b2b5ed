#include "simulate/engine.h"

#include <map>

#include "base/random.h"
#include "simulate/generate.h"
#include "simulate/run_test.h"
#include "simulate/summary.h"

namespace orrery::simulate {
namespace {

constexpr TimeNs kSecond = schedule::kSecondNs;

RunSetup pool(int gpus) {
  return setup_of(1, gpus);
}

TEST(Engine, FifoHoldsBackWhatFirstFitLetsPass) {
  // Two GPUs: the first takes one for 10 s, the second wants both, the third would fit beside the first.
  const JobTrace job_trace = job_trace_of({job_of(0, 10, 1), job_of(1, 5, 2), job_of(2, 3, 1)});
  EXPECT_EQ(ends_s(run(job_trace, pool(2), "fifo")), (std::vector<TimeNs>{10, 15, 18}));
  EXPECT_EQ(ends_s(run(job_trace, pool(2), "first-fit")), (std::vector<TimeNs>{10, 15, 5}));
}

TEST(Engine, AnAnnouncedFailureLosesNoWork) {
  // The machine is taken back at 70 s. Without notice the work since the last checkpoint at 60 s is lost; with a
  // minute's notice and 10 s to save, the job leaves at 20 s with all of it.
  const JobTrace job_trace = job_trace_of({job_of(0, 100, 1)});
  RunSetup setup = pool(1);
  setup.engine.costs.checkpoint_ns = 60 * kSecond;
  setup.engine.outages = {{.fails_ns = 70 * kSecond, .returns_ns = 80 * kSecond, .machine = MachineIndex(0)}};
  EXPECT_EQ(ends_s(run(job_trace, setup, "fifo")), (std::vector<TimeNs>{120}));
  RunSetup told = setup;
  announce(told.engine.outages, 60 * kSecond, 10 * kSecond);
  EXPECT_EQ(ends_s(run(job_trace, told, "fifo")), (std::vector<TimeNs>{160}));
  announce(setup.engine.outages, 5 * kSecond, 10 * kSecond);  // too late to save
  EXPECT_EQ(ends_s(run(job_trace, setup, "fifo")), (std::vector<TimeNs>{120}));
}

TEST(Engine, AQuotaHoldsBackATenantsJobsAndNoOthers) {
  JobTrace job_trace = job_trace_of({job_of(0, 10, 2), job_of(1, 10, 1), job_of(2, 5, 2), job_of(3, 5, 3)});
  job_trace.tenants = {"a", "b"};
  job_trace.jobs[JobIndex(2)].facts.tenant = 1;
  RunSetup setup = pool(8);
  setup.engine.tenant_quota = 2;
  const RunResult result = run(job_trace, setup, "fifo");
  EXPECT_EQ(ends_s(result)[0], 10);
  EXPECT_EQ(ends_s(result)[1], 20);  // when the first of its tenant has ended
  EXPECT_EQ(ends_s(result)[2], 7);
  EXPECT_EQ(result.too_large, std::vector{JobIndex(3)});
}

TEST(Engine, UnderAQuotaEveryPolicyEndsEveryJobAndNoTenantHasMore) {
  const JobTrace job_trace = generate({.jobs = 150, .rate_per_h = 200, .seed = 5});
  for (const char* policy : {"fifo", "srtf", "las", "gandiva", "drf"}) {
    RunSetup setup;
    setup.machines.assign(8, {.gpus = 8});
    setup.engine.tenant_quota = 16;
    setup.engine.keep_holdings = true;
    const RunResult result = run(job_trace, setup, policy);
    EXPECT_TRUE(result.unfinished.empty()) << policy;
    std::map<std::int32_t, std::map<TimeNs, int>> changes;  // of GPUs held, by tenant and time
    for (const Holding& holding : result.holdings) {
      auto& of_tenant = changes[job_trace.jobs[holding.job].facts.tenant];
      of_tenant[holding.from_ns] += holding.gpus;
      of_tenant[holding.to_ns] -= holding.gpus;
    }
    for (const auto& [tenant, of_tenant] : changes) {
      int held = 0;
      for (const auto& [at, change] : of_tenant) {
        held += change;
        EXPECT_LE(held, 16) << policy << " tenant " << tenant;
      }
    }
  }
}

TEST(Engine, PreemptionKeepsWorkAndCostsWhatItIsSaidToCost) {
  // The short job comes at 4 and takes the GPU for 2 s; the long one then has 6 s left, and 1 s to resume.
  const JobTrace job_trace = job_trace_of({job_of(0, 10, 1), job_of(4, 2, 1)});
  EXPECT_EQ(ends_s(run(job_trace, pool(1), "srtf")), (std::vector<TimeNs>{12, 6}));
  RunSetup costly = pool(1);
  costly.engine.costs.resume_ns = kSecond;
  const RunResult result = run(job_trace, costly, "srtf");
  EXPECT_EQ(ends_s(result), (std::vector<TimeNs>{13, 6}));
  EXPECT_EQ(result.jobs[JobIndex(0)].starts, 2);
}

TEST(Engine, JobsThatNeverFitAreReported) {
  const JobTrace job_trace = job_trace_of({job_of(0, 10, 3), job_of(1, 5, 1)});
  for (const schedule::PolicyRecord& policy : runnable_policies()) {
    const RunResult result = run(job_trace, pool(2), policy.name);
    EXPECT_EQ(result.too_large, std::vector{JobIndex(0)}) << policy.name;
    EXPECT_TRUE(result.unfinished.empty()) << policy.name;
    EXPECT_NE(result.jobs[JobIndex(1)].end_ns, kNever) << policy.name;
  }
}

TEST(Engine, AFailureLosesWorkSinceTheLastCheckpoint) {
  RunSetup setup;
  setup.machines = {{.gpus = 1}, {.gpus = 1}};
  setup.engine.check_invariants = true;
  setup.engine.costs.checkpoint_ns = 4 * kSecond;
  setup.engine.outages = {{6 * kSecond, 20 * kSecond, MachineIndex(0)}};
  // The job loses 2 of 6 s and continues on the other machine: 6 + (10 - 4) = 12.
  const RunResult result = run(job_trace_of({job_of(0, 10, 1)}), setup, "fifo");
  EXPECT_EQ(ends_s(result), std::vector<TimeNs>{12});
  EXPECT_EQ(result.jobs[JobIndex(0)].starts, 2);
}

TEST(Engine, OptimusSharesGpusByMarginalGain) {
  RunSetup setup = pool(4);
  setup.elastic = 4;
  setup.round_s = 1;
  setup.curve.serial_share = 0;
  // Alone, the job gets all four GPUs at the first round and needs a quarter of its time.
  const RunResult result = run(job_trace_of({job_of(0, 40, 1)}), setup, "optimus");
  EXPECT_EQ(ends_s(result), std::vector<TimeNs>{10});
}

TEST(Engine, GandivaSharesAServerOverTime) {
  // Two jobs of 300 s on one GPU take turns of 60 s: 60 + … the first ends in its fifth turn, at 540 s.
  const RunResult result = run(job_trace_of({job_of(0, 300, 1), job_of(0, 300, 1)}), pool(1), "gandiva");
  EXPECT_EQ(ends_s(result), (std::vector<TimeNs>{540, 600}));
  EXPECT_EQ(result.jobs[JobIndex(1)].first_start_ns, 60 * kSecond);
}

TEST(Engine, GandivaPacksJobsThatFitTogether) {
  JobTrace job_trace = job_trace_of({job_of(0, 600, 1), job_of(0, 600, 1)});
  for (TraceJob& each : job_trace.jobs) {
    each.facts.gpu_utilisation = 0.3;
    each.facts.gpu_memory_share = 0.4;
  }
  const RunResult packed = run(job_trace, pool(1), "gandiva");
  for (TraceJob& each : job_trace.jobs) each.facts.gpu_memory_share = 0.9;
  const RunResult sliced = run(job_trace, pool(1), "gandiva");
  EXPECT_LT(packed.makespan_ns, 900 * kSecond);
  EXPECT_EQ(sliced.makespan_ns, 1200 * kSecond);
}

TEST(Engine, GandivaRunsJobsLargerThanAServerOneAfterTheOther) {
  RunSetup setup;
  setup.machines.assign(2, {.gpus = 1});
  setup.engine.check_invariants = true;
  const RunResult result =
      run(job_trace_of({job_of(0, 100, 2), job_of(1, 100, 2), job_of(2, 30, 1)}), setup, "gandiva");
  EXPECT_TRUE(result.unfinished.empty());
  // The small job takes turns with the first large one: large until 60 s, small until 90 s.
  EXPECT_EQ(ends_s(result), (std::vector<TimeNs>{130, 230, 90}));
}

TEST(Engine, PredictionErrorsChangeDecisionsNotWork) {
  GenerateOptions options;
  options.jobs = 200;
  const JobTrace job_trace = generate(options);
  RunSetup setup = pool(16);
  const RunResult exact = run(job_trace, setup, "srtf");
  setup.engine.prediction_sigma = 1;
  const RunResult wrong = run(job_trace, setup, "srtf");
  EXPECT_NE(exact.decision_hash, wrong.decision_hash);
  for (const JobIndex j : job_trace.jobs.indices()) {
    EXPECT_EQ(wrong.jobs[j].executed_ns, job_trace.jobs[j].facts.work_ns);
  }
}

JobTrace crowded(std::uint64_t seed) {
  GenerateOptions options;
  options.jobs = 150;
  options.rate_per_h = 400;
  options.seed = seed;
  return generate(options);
}

TEST(Engine, EveryPolicyEndsEveryJobAndConservesWork) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const JobTrace job_trace = crowded(seed);
    RunSetup setup;
    setup.machines.assign(3, {.gpus = 8});
    setup.engine.check_invariants = true;
    for (const schedule::PolicyRecord& policy : runnable_policies()) {
      const RunResult result = run(job_trace, setup, policy.name);
      EXPECT_TRUE(result.unfinished.empty()) << policy.name << " seed " << seed;
      for (const JobIndex j : job_trace.jobs.indices()) {
        const JobFacts& facts = job_trace.jobs[j].facts;
        if (facts.gpus > 24) continue;
        const JobOutcome& outcome = result.jobs[j];
        ASSERT_NE(outcome.end_ns, kNever) << policy.name;
        EXPECT_GE(outcome.first_start_ns, facts.submit_ns) << policy.name;
        // Elastic and packed jobs have other speeds; all others run exactly as long as they are.
        const bool rigid = !schedule::needs_elastic_jobs(policy.name) && policy.name != "gandiva" &&
                           policy.name != "gavel-packed" && policy.name != "lucid" && !policy.name.starts_with("muri-");
        if (rigid) {
          EXPECT_EQ(outcome.executed_ns, facts.work_ns);
        }
      }
      EXPECT_LE(result.busy_gpu_ns, 24.0 * static_cast<double>(result.makespan_ns) * (1 + 1e-9)) << policy.name;
    }
  }
}

TEST(Engine, PoliciesSurviveFailures) {
  const JobTrace job_trace = crowded(9);
  RunSetup setup;
  setup.machines.assign(3, {.gpus = 8});
  setup.engine.check_invariants = true;
  setup.engine.costs.checkpoint_ns = 60 * kSecond;
  for (int i = 0; i < 10; ++i) {
    setup.engine.outages.push_back({(600 + 900 * i) * kSecond, (900 + 900 * i) * kSecond, MachineIndex(i % 3)});
  }
  for (const schedule::PolicyRecord& policy : runnable_policies()) {
    const RunResult result = run(job_trace, setup, policy.name);
    EXPECT_TRUE(result.unfinished.empty()) << policy.name;
  }
}

TEST(Engine, ThreadsDoNotChangeDecisions) {
  const JobTrace job_trace = crowded(4);
  RunSetup setup;
  setup.machines.assign(3, {.gpus = 8});
  const std::vector<std::string> policies = {"fifo", "srtf", "las", "gandiva", "optimus", "tiresias"};
  const auto one = run_policies(job_trace, setup, policies, 1, {}),
             four = run_policies(job_trace, setup, policies, 4, {});
  for (std::size_t p = 0; p < policies.size(); ++p) {
    ASSERT_TRUE(one[p].has_value() && four[p].has_value()) << policies[p];
    EXPECT_EQ(one[p]->decision_hash, four[p]->decision_hash) << policies[p];
    EXPECT_NE(one[p]->decision_hash, 0u);
  }
}

TEST(Engine, UnderLoadShortestFirstHasTheShortestMean) {
  const JobTrace job_trace = crowded(5);
  const RunSetup setup = pool(16);
  const double srtf = summarise(job_trace, run(job_trace, setup, "srtf"), 16, 0).mean_s;
  EXPECT_LT(srtf, summarise(job_trace, run(job_trace, setup, "fifo"), 16, 0).mean_s);
  EXPECT_LT(srtf, summarise(job_trace, run(job_trace, setup, "las"), 16, 0).mean_s);
}

}  // namespace
}  // namespace orrery::simulate
