#pragma once
// The folder of one attempt to run a job: it keeps a second launcher from starting the same attempt, and says how it
// ended when nobody waited for the launcher.
//
//   launcher    {"job": …, "process": …, "started": …, "boot": …, "run": …}: which process supervises it; the number of
//               a process is used again, with its start in ticks since the machine's and the machine's boot it is not
//   exit        {"code": …, "summary": …, "time_s": …}: how the job ended; whole or not there
//
// Processes of the job are marked: ORRERY_RUN in their environment is the run and the name of the job on their host.

#include <string>

#include "env/env.h"
#include "env/files.h"

namespace orrery::elastic {

inline constexpr const char* kRunVariable = "ORRERY_RUN";
// The value of the variable. Several hosts of a job may be agents on one machine, so a host has its own.
std::string mark_of(const std::string& job_on_host, std::uint64_t run);

class AttemptFolder {
 public:
  // Creates the folder in one that exists. kInvalidArgument if it is there already: an attempt is made once.
  static Result<AttemptFolder> create(env::Env env, const std::string& path, const std::string& job, std::uint64_t run);

  // Once. Durable when it returns.
  Status record_exit(int code, const std::string& summary);

 private:
  AttemptFolder(env::Env env, std::string path) : env_(env), path_(std::move(path)) {}

  env::Env env_;
  std::string path_;
};

}  // namespace orrery::elastic
