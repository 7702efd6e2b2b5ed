#pragma once
// Jobs on several machines at once. Such a job has whole machines of one VM type; its time goes by their number.
//
// In a plan it stands on every one of its nodes, with all GPUs of each.

#include "plan/instance.h"
#include "plan/plan.h"

namespace orrery::plan {

inline constexpr int kSpreadMachinesMax = 64;

struct Spread {
  std::size_t job = 0;
  std::size_t vm = 0;
  int machines = 2;
  double time_s = 0;  // with what is lost before it starts (Job::switch_s)
};

// The time left of a job on this many whole machines of the type, on spot machines the expected one; no value if it
// cannot run there.
std::optional<double> spread_s(const Job& job, const VmType& type, int machines);

// Every option to run a job on several machines that the limits of the instance allow by themselves, by job, VM type
// and number.
std::vector<Spread> spreads_of(const Instance& instance, std::size_t job);
std::vector<Spread> spreads_of(const Instance& instance);

// The number of nodes of each job.
std::vector<int> machines_by_job(const Instance& instance, const Plan& plan);

}  // namespace orrery::plan
