#pragma once
// Starts the processes of a job on this host, or on others through their agents (agent.h), supervises them, and carries
// out the requests of users and workers until all have ended. The Roster decides what is to be done.
//
// - Each process finds its job by environment variables (enlist.h) and is in a process group of its own.
// - Its output is forwarded line by line with "[worker] " before each (host/log_forwarder.h). The worker's number never
//   changes, unlike ranks.
// - SIGTERM, SIGINT or SIGHUP to the launcher let all workers stop at the same step; a second signal kills them.
// - If the launcher is killed, the training continues and ends by itself. Only processes that are not yet workers end.
// - The launcher is no part of the training: what fails for it once processes run (a full disk, no descriptors left, a
//   notice that cannot be read) is reported once on standard error and tried again, and the training continues.
// - Names and memory of a job are in the kernel and end with its processes: there is nothing to clean up. What workers
//   have started and left behind is killed when the job has ended.

#include "elastic/host/segment.h"
#include "elastic/job/roster.h"
#include "env/channel/handshake.h"
#include "env/env.h"
#include "env/sockets.h"

namespace orrery::elastic {

struct LaunchOptions {
  RosterOptions roster{};
  std::vector<std::string> argv{};
  std::uint64_t arena_bytes = 256ULL << 20;  // of each process
  std::string folder{};                      // of this attempt (attempt.h), created here; empty: none
  std::string events{};                      // gets a line of JSON for each event; empty: none
  // When this file appears, the workers whose numbers it holds leave; without numbers, the whole job stops.
  std::string preemption_file{};
  bool is_quiet = false;               // prints nothing on standard error but errors
  std::vector<env::Address> agents{};  // of the hosts to run on; none: this host
  // The secret of the agents; whether what hosts send each other, between workers too, is encrypted.
  env::Credentials credentials{};
  Seconds partition_timeout{30};  // how long a minority of workers waits for the others
};

struct LaunchReport {
  int exit_code = 0;
  JobStatus last{};
  std::string summary{};
};

// Returns when the job has ended. kNotFound if there is no such program, kUnavailable if the name is taken.
Result<LaunchReport> launch(env::Env env, const LaunchOptions& options);

}  // namespace orrery::elastic
