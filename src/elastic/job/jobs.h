#pragma once
// The jobs of this user that run on this host, and the answers of their launchers.

#include <string>
#include <vector>

#include "elastic/job/note.h"
#include "env/env.h"
#include "env/files.h"

namespace orrery::elastic {

// Names of all jobs with a live process, sorted. A process that trains alone, without a launcher, is not listed.
Result<std::vector<std::string>> running_jobs(env::Files& files);

// The number of live processes of the job without its launcher, and whether the launcher lives.
struct JobMailboxes {
  std::size_t processes = 0;
  bool has_launcher = false;
};
Result<JobMailboxes> mailboxes_of(env::Files& files, const std::string& job);

// Asks the launcher of a job, repeatedly within `timeout`. kNotFound if there is no such job, kUnavailable if its
// launcher is gone or silent, kInvalidArgument with the launcher's message if it refuses.
Result<JobStatus> ask_launcher(env::Env env, const std::string& job, AskLauncher question, Seconds timeout);

}  // namespace orrery::elastic
