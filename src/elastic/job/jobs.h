#pragma once
// The jobs of this user that run on this host, and what their launchers answer.

#include <string>
#include <vector>

#include "elastic/job/note.h"
#include "env/files.h"

namespace orrery::elastic {

// Names of all jobs of which any process lives, sorted. A process that trains alone, without a launcher, is none.
Result<std::vector<std::string>> running_jobs(env::Files& files);

// How many processes of the job live, its launcher aside, and whether that does.
struct JobMailboxes {
  std::size_t processes = 0;
  bool has_launcher = false;
};
Result<JobMailboxes> mailboxes_of(env::Files& files, const std::string& job);

// Asks the launcher of a job, again and again within `timeout`. kNotFound if there is no such job, kUnavailable if it
// has lost its launcher or that is silent, kInvalidArgument with the launcher's words if it refuses.
Result<JobStatus> ask_launcher(env::Files& files, const std::string& job, AskLauncher question, Seconds timeout);

}  // namespace orrery::elastic
