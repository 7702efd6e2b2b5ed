#include "simulate/occupancy.h"

#include <gtest/gtest.h>
#include <map>

#include "simulate/generate.h"
#include "simulate/runner.h"

namespace orrery::simulate {
namespace {

const schedule::Machines kMachines(4, {.gpus = 4});

RunResult run_of(const JobTrace& job_trace, const std::string& policy) {
  RunSetup setup;
  setup.machines = kMachines;
  setup.engine.keep_holdings = true;
  return run_policy(job_trace, setup, policy).value();
}

TEST(Occupancy, ShowsAllGpuTimeAndNoGpuTwice) {
  const JobTrace job_trace = generate({.jobs = 200, .seed = 3});
  for (const char* policy : {"fifo", "srtf", "gandiva", "optimus"}) {
    const RunResult run = run_of(job_trace, policy);
    double held = 0;
    for (const Lane& lane : lanes_of(run, kMachines)) {
      EXPECT_LT(lane.gpu, 4) << policy;
      TimeNs end = 0;
      for (const LaneSlice& slice : lane.slices) {
        held += static_cast<double>(slice.to_ns - slice.from_ns);
        if (slice.level > 0) continue;
        EXPECT_GE(slice.from_ns, end) << policy;
        end = slice.to_ns;
      }
    }
    const bool packs = std::string_view(policy) == "gandiva";
    if (packs) {
      EXPECT_GE(held, run.busy_gpu_ns * (1 - 1e-9));
    } else {
      EXPECT_NEAR(held / run.busy_gpu_ns, 1, 1e-9) << policy;
    }
  }
}

// Jobs that share GPUs are on the same ones, and no machine has more than it has.
TEST(Occupancy, EveryPolicyUsesGpusThatExist) {
  JobTrace job_trace = generate({.jobs = 120, .rate_per_h = 400, .seed = 4});
  for (const JobIndex j : job_trace.jobs.indices()) {
    JobFacts& facts = job_trace.jobs[j].facts;
    facts.gpu_utilisation = facts.gpu_memory_share = 0.2 + 0.1 * (j.value() % 4);
    facts.stages = schedule::shared_stages({.load_s = 1, .gpu_s = 1, .network_s = 0.5, .iteration_s = 2.5});
  }
  std::size_t shared = 0;
  for (const schedule::PolicyRecord& policy : schedule::all_policies()) {
    const RunResult run = run_of(job_trace, policy.name);
    std::map<std::tuple<JobIndex, TimeNs, MachineIndex>, std::int32_t> held;
    for (const Lane& lane : lanes_of(run, kMachines)) {
      ASSERT_LT(lane.gpu, 4) << policy.name;
      std::map<std::size_t, TimeNs> ends;
      for (const LaneSlice& slice : lane.slices) {
        ++held[{slice.job, slice.from_ns, lane.machine}];
        shared += slice.level > 0 ? 1 : 0;
        ASSERT_GE(slice.from_ns, ends[slice.level]) << policy.name;
        ends[slice.level] = slice.to_ns;
      }
    }
    for (const Holding& holding : run.holdings) {
      if (holding.from_ns == holding.to_ns) continue;
      EXPECT_EQ((held[{holding.job, holding.from_ns, holding.machine}]), holding.gpus) << policy.name;
    }
  }
  EXPECT_GT(shared, 0u);
}

// Turns of a minute in a run of days: busy times are drawn, however thin their slices are.
TEST(Occupancy, AGanttChartShowsAllTimeInUse) {
  JobTrace job_trace;
  for (int j = 0; j < 40; ++j) {
    TraceJob& job = job_trace.jobs.emplace_back();
    job.id = std::to_string(j);
    job.facts.gpus = 4;
    job.facts.work_ns = schedule::from_seconds(50'000);
  }
  job_trace.tenants = {""};
  const RunResult run = run_of(job_trace, "gandiva");
  double drawn_h = 0;
  for (const plot::GanttRow& row : gantt_of(job_trace, run, lanes_of(run, kMachines)).rows) {
    for (const plot::GanttSlice& slice : row.slices) drawn_h += slice.end - slice.start;
  }
  EXPECT_NEAR(drawn_h / (run.busy_gpu_ns * 1e-9 / 3600), 1, 1e-6);
}

TEST(Occupancy, AGanttChartNamesItsJobs) {
  const JobTrace job_trace = generate({.jobs = 5, .seed = 1});
  const RunResult run = run_of(job_trace, "fifo");
  const std::string svg = gantt_svg(job_trace, run, lanes_of(run, kMachines));
  EXPECT_NE(svg.find("GPUs under fifo"), std::string::npos);
  EXPECT_NE(svg.find(job_trace.jobs[JobIndex(0)].id), std::string::npos);
}

}  // namespace
}  // namespace orrery::simulate
