#include "simulate/occupancy.h"

#include <gtest/gtest.h>
#include <map>

#include "simulate/generate.h"
#include "simulate/runner.h"

namespace orrery::simulate {
namespace {

const std::vector<schedule::MachineView> kMachines(4, {.gpus = 4});

RunResult run_of(const Workload& workload, const std::string& policy) {
  RunSetup setup;
  setup.machines = kMachines;
  setup.engine.keep_holdings = true;
  return run_policy(workload, setup, policy).value();
}

TEST(Occupancy, ShowsAllGpuTimeAndNoGpuTwice) {
  const Workload workload = generate({.jobs = 200, .seed = 3});
  for (const char* policy : {"fifo", "srtf", "gandiva", "optimus"}) {
    const RunResult run = run_of(workload, policy);
    double held = 0;
    for (const Lane& lane : lanes_of(run, kMachines)) {
      EXPECT_LT(lane.gpu, 8) << policy;
      for (std::size_t i = 0; i < lane.slices.size(); ++i) {
        held += static_cast<double>(lane.slices[i].to_ns - lane.slices[i].from_ns);
        if (i == 0) continue;
        EXPECT_GE(lane.slices[i].from_ns, lane.slices[i - 1].to_ns) << policy;
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

TEST(Occupancy, AGanttChartNamesItsJobs) {
  const Workload workload = generate({.jobs = 5, .seed = 1});
  const RunResult run = run_of(workload, "fifo");
  const std::string svg = gantt_svg(workload, run, lanes_of(run, kMachines));
  EXPECT_NE(svg.find("GPUs under fifo"), std::string::npos);
  EXPECT_NE(svg.find(workload.jobs[0].id), std::string::npos);
}

}  // namespace
}  // namespace orrery::simulate
