#pragma once
// How a process finds its job. The launcher sets environment variables:
//
//   ORRERY_JOB        name of the job on this host
//   ORRERY_MEMORY     path of the shared memory (Segment::path of the launcher)
//   ORRERY_WORKER     own number, from 1, never used again in this job
//   ORRERY_SLOT       own slot in the memory
//   ORRERY_RUN        of all processes of one run on one host (attempt.h)
//   ORRERY_INITIAL_WORKERS   "1:0,2:1": workers and slots of the first membership; other workers join later
//
// In a job on several hosts, besides:
//
//   ORRERY_HOST       number of the own host, from 0
//   ORRERY_ADDRESS    where this process listens for others; its port is reserved for it
//   ORRERY_SECRET     known to the processes of the job only
//   ORRERY_ENCRYPT    1 if what workers send each other between hosts is encrypted
//   ORRERY_PARTITION_TIMEOUT_S    how long a minority waits for the others before it ends
//
// and initial workers are "1:0:0:10.0.0.1:4711,…": worker, slot, host, address.
//
// Besides, programs find the variables of torchrun, so that scripts run unchanged: RANK, WORLD_SIZE, LOCAL_RANK,
// LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, of the first membership; a process that joins later has no RANK.
// LOCAL_RANK is the slot.
//
// A program that was started without a launcher is a job of one worker.
//
//   ORRERY_TRY(WorkerOptions options, enlist(env.variables, {.samples = 60'000, .parameters = {{"batch", 64}}}));
//   options.commit = …;  options.state = …;
//   ORRERY_TRY(auto worker, Worker::start(env, std::move(options)));

#include <map>
#include <string>

#include "elastic/worker.h"
#include "env/terminal.h"

namespace orrery::elastic {

// What the program declares about its training, the same in all initial workers. Joining workers get it from the
// others.
struct Training {
  std::uint64_t samples = 1;  // in the data set
  std::uint64_t seed = 0;     // of their order
  std::map<std::string, double> parameters{};
};

struct Enlistment {
  std::string job;
  std::string memory;
  WorkerRecord self{};
  std::vector<WorkerRecord> initial_workers{};
  env::Credentials credentials{};  // of a job on several hosts
  double partition_timeout_s = 30;
  std::string master_host = "127.0.0.1";  // for programs with a rendezvous of their own
  std::uint16_t master_port = 0;          // 0: none is given
  friend bool operator==(const Enlistment&, const Enlistment&) = default;
};

// The variables that the launcher sets and the process reads. No value if there is no launcher.
std::map<std::string, std::string> to_variables(const Enlistment& enlistment);
Result<std::optional<Enlistment>> read_enlistment(const env::Variables& variables);

// All options but commit and state. From then on SIGTERM lets this process leave between two steps instead of ending it
// at once. In a job of its own, it creates the memory here.
Result<WorkerOptions> enlist(const env::Variables& variables, const Training& training);

}  // namespace orrery::elastic
