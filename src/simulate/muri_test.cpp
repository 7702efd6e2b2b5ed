// Muri on the simulated cluster.

#include <algorithm>
#include <map>

#include "base/random.h"
#include "schedule/interleaving.h"
#include "simulate/job_story.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

constexpr TimeNs kSecond = schedule::kSecondNs;

TraceJob staged(double submit_s, double length_s, int gpus, double load_s, double gpu_s, double network_s) {
  TraceJob job = job_of(submit_s, length_s, gpus);
  job.facts.stages = schedule::shared_stages(
      {.load_s = load_s, .gpu_s = gpu_s, .network_s = network_s, .iteration_s = load_s + gpu_s + network_s});
  return job;
}

// One loads, one computes, on one GPU: each at 1.015 / 1.33 of its speed. After 1000 s of work each, 1310.3 s.
TEST(Muri, StagesTakeTurns) {
  const JobTrace job_trace = job_trace_of({staged(0, 1000, 1, 1, 0, 0), staged(0, 1000, 1, 0, 1, 0)});
  for (const char* policy : {"muri-s", "muri-l"}) {
    EXPECT_EQ(ends_s(run(job_trace, setup_of(1, 1), policy)), (std::vector<TimeNs>{1310, 1310})) << policy;
  }
}

// When one of two ends, the other has the GPU for itself: 500 s of work take 655.2 s together, the other 500 as many
// seconds.
TEST(Muri, TheRemainingJobContinuesAtFullSpeed) {
  const JobTrace job_trace = job_trace_of({staged(0, 500, 1, 1, 0, 0), staged(0, 1000, 1, 0, 1, 0)});
  EXPECT_EQ(ends_s(run(job_trace, setup_of(1, 1), "muri-s")), (std::vector<TimeNs>{655, 1155}));
}

// Jobs that want the same run one after the other: the shorter has the GPU from the first round after it came on, 360
// to 760 s; the longer has it again at the round after that, 1080 s, for the 640 s that are left.
TEST(Muri, JobsThatWantTheSameWait) {
  const JobTrace job_trace = job_trace_of({staged(0, 1000, 1, 0, 1, 0), staged(10, 400, 1, 0, 1, 0)});
  EXPECT_EQ(ends_s(run(job_trace, setup_of(1, 1), "muri-s")), (std::vector<TimeNs>{1720, 760}));
}

// With any sequence of submissions, restarts and failures: a GPU has at most one group, and every job ends.
TEST(Muri, NoGpuHoldsMoreThanAGroup) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    IndexedVector<JobIndex, TraceJob> jobs;
    double at_s = 0;
    for (int j = 0; j < 150; ++j) {
      at_s += random.exponential(60);
      const auto stage = [&] { return static_cast<double>(random.below(5)); };
      jobs.push_back(staged(at_s, 1 + random.exponential(2000), 1 << random.below(4), stage(), stage(), 1 + stage()));
    }
    RunSetup setup = setup_of(3, 8);  // checks the ledger's rings after every event
    setup.engine.costs.resume_ns = 30 * kSecond;
    setup.engine.keep_log = setup.engine.keep_holdings = true;
    setup.engine.outages = random_outages(3, 20'000, 2'000, schedule::from_seconds(at_s), seed);
    for (const char* policy : {"muri-s", "muri-l"}) {
      const RunResult result = run(job_trace_of(jobs), setup, policy);
      EXPECT_TRUE(result.unfinished.empty()) << policy;
      std::size_t interleaved = 0;
      for (const LoggedDecision& entry : result.log) {
        interleaved += entry.decision.action == schedule::Action::kInterleave ? 1U : 0U;
      }
      EXPECT_GT(interleaved, 10u) << policy;
      // On no machine jobs hold more than its GPUs times a group.
      std::map<std::pair<MachineIndex, TimeNs>, int> change;
      for (const Holding& holding : result.holdings) {
        change[{holding.machine, holding.from_ns}] += holding.gpus;
        change[{holding.machine, holding.to_ns}] -= holding.gpus;
      }
      std::map<MachineIndex, int> held;
      for (const auto& [at, gpus] : change) {
        held[at.first] += gpus;
        EXPECT_LE(held[at.first], 8 * static_cast<int>(schedule::kGroupMax));
      }
    }
  }
}

TEST(Muri, AStoryTellsWithWhichJobsStagesTakeTurns) {
  JobTrace job_trace = job_trace_of({staged(0, 1000, 1, 1, 0, 0), staged(0, 900, 1, 0, 1, 0)});
  job_trace.jobs[JobIndex(0)].id = "loads";
  job_trace.jobs[JobIndex(1)].id = "computes";
  RunSetup setup = setup_of(1, 1);
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace, setup, "muri-s");
  const std::vector<StoryLine> story = story_of(job_trace, result, JobIndex(0));
  const bool tells = std::any_of(story.begin(), story.end(), [](const StoryLine& line) {
    return line.what.find("takes turns with the stages of computes") != std::string::npos &&
           line.why.find("stages of 2 jobs fit together") != std::string::npos;
  });
  EXPECT_TRUE(tells);
}

}  // namespace
}  // namespace orrery::simulate
