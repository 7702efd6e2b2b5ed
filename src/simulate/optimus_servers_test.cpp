// Optimus with parameter servers and workers, in the simulator.

#include "simulate/generate.h"
#include "simulate/run_test.h"
#include "simulate/summary.h"

namespace orrery::simulate {
namespace {

RunSetup ps_setup(std::size_t machines, int gpus) {
  RunSetup setup = setup_of(machines, gpus);
  setup.curve.serial_share = 0.2;
  setup.round_s = 1;
  setup.engine.keep_log = true;
  return setup;
}

TEST(OptimusServers, AJobAloneGrowsWhileTasksSaveTime) {
  // A step of 0.8 / w + 0.1 + 0.1 w / p: with four servers and four workers 0.4 of the one asked for.
  const RunResult result = run(job_trace_of({job_of(0, 40, 1)}), ps_setup(1, 4), "optimus-ps");
  EXPECT_EQ(ends_s(result), std::vector<TimeNs>{16});
  ASSERT_EQ(result.log.size(), 1u);
  EXPECT_EQ(result.log[0].decision.allocation, (schedule::Allocation{{MachineIndex(0), 4, 4}}));
  EXPECT_EQ(schedule::to_string(result.log[0].decision.reason), "marginal gains give it 4 servers and 4 workers");
}

TEST(OptimusServers, TasksAreSpreadEvenlyOverTheFewestMachines) {
  RunSetup setup = ps_setup(3, 4);
  setup.elastic = 8;
  const RunResult result = run(job_trace_of({job_of(0, 40, 1)}), setup, "optimus-ps");
  ASSERT_EQ(result.log.size(), 1u);
  // Eight of each do not fit on one machine, but on two.
  EXPECT_EQ(result.log[0].decision.allocation,
            (schedule::Allocation{{MachineIndex(0), 4, 4}, {MachineIndex(1), 4, 4}}));
}

TEST(OptimusServers, JobsKeepTheirPlacesWhileTheirNumbersStay) {
  RunSetup setup = ps_setup(2, 4);
  setup.engine.costs.move_ns = setup.engine.costs.resume_ns = 5 * schedule::kSecondNs;
  const RunResult result = run(job_trace_of({job_of(0, 400, 1), job_of(0, 400, 1)}), setup, "optimus-ps");
  // Equal jobs get equal tasks, once; when one ends first by a whisker, the other may not grow beyond four workers.
  for (const JobOutcome& job : result.jobs) EXPECT_EQ(job.starts + job.moves, 1);
}

TEST(OptimusServers, LosesServersWithTheirMachine) {
  RunSetup setup = ps_setup(2, 2);
  setup.elastic = 4;
  setup.engine.outages = {{30 * schedule::kSecondNs, kNever, MachineIndex(1)}};
  // Four servers and workers on both machines; after 30 s two of each on the first one.
  const RunResult result = run(job_trace_of({job_of(0, 100, 1)}), setup, "optimus-ps");
  ASSERT_EQ(result.log.size(), 3u);
  EXPECT_EQ(result.log[1].decision.action, schedule::Action::kEvict);
  EXPECT_EQ(result.log[2].decision.allocation, (schedule::Allocation{{MachineIndex(0), 2, 2}}));
  // 30 s at 1 / 0.4, then the other 25 at 1 / 0.6.
  EXPECT_EQ(ends_s(result), std::vector<TimeNs>{45});
}

TEST(OptimusServers, WithManyJobsIsAboutAsGoodAsWithGpusAlone) {
  const JobTrace job_trace = generate({.jobs = 60, .rate_per_h = 12, .mix = Mix::kOptimus, .seed = 3});
  RunSetup setup = setup_of(4, 8);
  const double gpus = summarise(job_trace, run(job_trace, setup, "optimus"), 32, 0).mean_s;
  const double servers = summarise(job_trace, run(job_trace, setup, "optimus-ps"), 32, 0).mean_s;
  EXPECT_NEAR(servers / gpus, 1, 0.1);
}

TEST(OptimusServers, HoldsUnderEverythingAtOnce) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const JobTrace job_trace = generate({.jobs = 80, .rate_per_h = 40, .mix = Mix::kOptimus, .seed = seed});
    RunSetup setup = setup_of(3, 4);
    setup.engine.seed = seed;
    setup.engine.costs = {.resume_ns = 20 * schedule::kSecondNs, .checkpoint_ns = 300 * schedule::kSecondNs};
    setup.engine.stragglers = {.probability = 0.1, .slowdown = 3};
    setup.engine.outages = random_outages(3, 20'000, 3'000, schedule::from_seconds(400'000), seed);
    setup.engine.prediction_sigma = 0.5;
    if (seed % 2 == 0) setup.scaling = ScalingKnowledge::kFitted;
    if (seed % 3 == 0) setup.engine.age_ns = schedule::from_seconds(3600);
    if (seed % 3 == 1) setup.engine.min_run_ns = schedule::from_seconds(900);
    const RunResult result = run(job_trace, setup, "optimus-ps");  // invariants are checked after every event
    EXPECT_TRUE(result.unfinished.empty()) << "seed " << seed;
    EXPECT_EQ(run(job_trace, setup, "optimus-ps").decision_hash, result.decision_hash);
  }
}

}  // namespace
}  // namespace orrery::simulate
