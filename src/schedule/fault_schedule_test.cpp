// Every policy of this module on random schedules of faults (fault_schedule.h).

#include "schedule/fault_schedule.h"

namespace orrery::schedule {
namespace {

class FaultSchedules : public testing::TestWithParam<std::string> {};

TEST_P(FaultSchedules, LoseNoJobAndUseNoGpuTwice) {
  lose_no_job_and_use_no_gpu_twice(*find_policy(all_policies(), GetParam()), 100);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const PolicyRecord& policy : all_policies()) all.push_back(policy.name);
  return all;
}

std::string test_name(const testing::TestParamInfo<std::string>& policy) {
  std::string name = policy.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Policies, FaultSchedules, testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace orrery::schedule
