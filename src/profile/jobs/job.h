#pragma once
// Random data-parallel jobs to measure: a model of the zoo at some batch, parameter servers or an all-reduce, numbers
// of processes, and the rate of every process's link.
//
// Procedure
// 1. A model and batch as for data sets of iterations (dataset/configurations.h), with less work in a step.
// 2. A form: servers that wait for all workers, servers that do not, or a ring. One or two workers (two in a ring) and
//    servers: each worker has a core of its own, or its times would be those of the operating system's scheduler.
// 3. A rate of 25 to 200 MB/s. If an exchange would then take less than a twentieth of a second or more than a
//    second, or the gradients are smaller than a megabyte, all is drawn again.
// Job number i depends on the seed and i alone, so that a data set can be continued.

#include <string>

#include "profile/dataset/configurations.h"
#include "profile/distributed/launch.h"

namespace orrery::profile {

struct Job {
  std::string family{}, model{};
  std::int64_t batch = 1;  // of each worker
  DistributedForm form = DistributedForm::kParameterServer;
  bool is_async = false;
  int servers = 1;  // none in a ring
  int workers = 1;
  BytesPerSecond rate{};  // of each process's link, each way
  std::int64_t steps = 10;

  std::string key() const;  // equal jobs have equal keys
};

Result<Job> draw_job(std::uint64_t seed, std::uint64_t number);

// One step of a worker.
Result<workload::TrainingRun> run_of(const Job& job);
// Of one exchange at the full rate: every link carries what its process sends and receives, one direction after the
// other.
Seconds exchange_time(const Job& job, Bytes gradients);

}  // namespace orrery::profile
