// The policy that plans on random schedules of faults (schedule/fault_schedule.h).

#include "plan/milp_policy.h"

#include "env/sim_env.h"
#include "schedule/fault_schedule.h"

namespace orrery::plan {
namespace {

TEST(MilpFaultSchedules, LoseNoJobAndUseNoGpuTwice) {
  env::SimEnv sim;
  const env::Env env = sim.env();
  schedule::lose_no_job_and_use_no_gpu_twice(milp_record(&env), 20);
}

}  // namespace
}  // namespace orrery::plan
