#pragma once
// What a launcher waits for: signals that ask it to end, messages, and the ends of its processes.

#include <map>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/units.h"
#include "env/posix.h"

namespace orrery::elastic {

// Used by one thread, the only one of its process: while it exists, SIGINT, SIGTERM and SIGHUP are taken by it, and
// writing where nobody reads any more is no reason to end.
class Supervisor {
 public:
  static Result<std::unique_ptr<Supervisor>> start();
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // A child of ours, until it is dropped.
  Status add(std::int64_t process);
  void drop(std::int64_t process) { processes_.erase(process); }

  // Returns when a signal has come, one of `descriptors` is readable or a process has ended, or after `timeout`. Says
  // how many signals came.
  Result<int> wait(std::span<const int> descriptors, Seconds timeout);

 private:
  Supervisor(env::FileDescriptor signals, void (*on_closed_pipe)(int))
      : signals_(std::move(signals)), on_closed_pipe_(on_closed_pipe) {}

  env::FileDescriptor signals_;
  void (*on_closed_pipe_)(int);  // before
  std::map<std::int64_t, env::FileDescriptor> processes_;
};

}  // namespace orrery::elastic
