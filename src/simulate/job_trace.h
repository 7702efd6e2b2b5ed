#pragma once
// A job trace: jobs as they were or will be submitted, independent of the form of their file.

#include <string>
#include <vector>

#include "base/result.h"
#include "schedule/cluster_view.h"

namespace orrery::simulate {

using schedule::JobFacts;
using schedule::JobIndex;
using schedule::kNever;
using schedule::MachineIndex;
using schedule::TimeNs;

// Of a job in a queue, where its file says so.
enum class QueueState : std::uint8_t { kNotSaid, kWaits, kRuns, kEnded };

struct TraceJob {
  std::string id;
  std::string model;              // what it trains; empty: not given
  double batch = 0;               // samples per step, of all its GPUs together; 0: not given
  double steps = 0;               // that it trains; 0: not given
  TimeNs time_limit_ns = kNever;  // that its user set
  // Its work_ns is how long the job really runs on the GPUs it asks for; 0, in queues only: not known.
  JobFacts facts;
  TimeNs executed_ns = 0;  // in a snapshot of a queue: how long it has been running; 0: it waits
  QueueState state = QueueState::kNotSaid;
};

struct JobTrace {
  std::string name;
  IndexedVector<JobIndex, TraceJob> jobs;  // by submission; of equal times in the order of the file
  std::vector<std::string> tenants;        // JobFacts::tenant is an index
  // Where jobs are faster on some types of devices than on others: the types, and the speeds of every class of jobs
  // (JobFacts::speed_class) on them, 1 on the fastest, 0 where it cannot run. The first class runs anywhere alike.
  std::vector<std::string> devices{};
  std::vector<std::vector<double>> speeds{};
};

// Puts jobs in order, and shifts times so that the first is submitted at 0. Deadlines move with them.
void normalise(JobTrace& job_trace);

}  // namespace orrery::simulate
