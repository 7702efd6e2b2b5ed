#pragma once
// Forwards what processes print to our standard output and error, or elsewhere, in whole lines with the name of the
// process before each.
//
// A process of its own does this. So it continues when the launcher is killed, until the last process has closed its
// output: no worker ever writes to a closed pipe. It ends by itself.

#include <memory>
#include <string>

#include "base/result.h"
#include "env/posix.h"

namespace orrery::elastic {

// The pipes that a process prints to. They become its standard output and error, and are then closed here.
struct PrintEnds {
  env::FileDescriptor output, error;
};

// Writes all of `text` to our standard output or error. Returns false if some of it could not be written.
bool print(std::string_view text, bool is_error);

class LogForwarder {
 public:
  // Forks: the caller must have no other thread. Lines go to these descriptors, ours unless given.
  static Result<std::unique_ptr<LogForwarder>> start(int output = 1, int error = 2);
  ~LogForwarder();
  LogForwarder(const LogForwarder&) = delete;
  LogForwarder& operator=(const LogForwarder&) = delete;

  // Waits briefly until everything that was printed so far is written. Returns false if some of it could not be
  // written, because of a full disk or a reader that is gone. Nothing can be added afterwards.
  bool close();

  // Lines begin with `prefix`, at most 64 bytes.
  Result<PrintEnds> add(const std::string& prefix);

 private:
  LogForwarder(env::FileDescriptor control, int process) : control_(std::move(control)), process_(process) {}

  env::FileDescriptor control_;
  int process_;
};

}  // namespace orrery::elastic
