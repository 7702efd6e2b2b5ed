#pragma once
// What a launcher waits for: signals that ask it to end, messages, and the ends of its processes.

#include <map>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/units.h"
#include "env/posix.h"

namespace orrery::elastic {

// Used by one thread, the only one of its process. While it exists, it takes SIGINT, SIGTERM and SIGHUP, and writing to
// a closed pipe does not end the process.
class Supervisor {
 public:
  static Result<std::unique_ptr<Supervisor>> start();
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Watches a child process until it is dropped.
  Status add(std::int64_t process);
  void drop(std::int64_t process) { processes_.erase(process); }

  // Returns when a signal has come, one of `descriptors` is readable or a process has ended, or after `timeout`.
  // Returns the number of signals.
  Result<int> wait(std::span<const int> descriptors, Seconds timeout);

 private:
  Supervisor(env::FileDescriptor signals, void (*on_closed_pipe)(int))
      : signals_(std::move(signals)), on_closed_pipe_(on_closed_pipe) {}

  env::FileDescriptor signals_;
  void (*on_closed_pipe_)(int);  // before
  std::map<std::int64_t, env::FileDescriptor> processes_;
};

}  // namespace orrery::elastic
