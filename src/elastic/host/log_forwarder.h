#pragma once
// Carries what processes print to our standard output and error, or elsewhere, whole lines with the printer's name
// before each.
//
// A process of its own does the work. So it goes on when the launcher is killed, until the last printer has closed its
// output: nobody who trains ever meets a closed pipe. It ends by itself.

#include <memory>
#include <string>

#include "base/result.h"
#include "env/posix.h"

namespace orrery::elastic {

// Where a process prints to. Given to it as standard output and error, then closed here.
struct PrintEnds {
  env::FileDescriptor output, error;
};

// Writes all of `text` to our standard output or error. False if some of it could not be written.
bool print(std::string_view text, bool is_error);

class LogForwarder {
 public:
  // Forks: the caller must have no other thread. Lines go to these descriptors, ours unless given.
  static Result<std::unique_ptr<LogForwarder>> start(int output = 1, int error = 2);
  ~LogForwarder();
  LogForwarder(const LogForwarder&) = delete;
  LogForwarder& operator=(const LogForwarder&) = delete;

  // Waits, a moment at most, until everything that was printed so far is out. False if some of it could not be written:
  // a full disk, a reader that is gone. Nothing can be added afterwards.
  bool close();

  // Lines begin with `prefix`, at most 64 bytes.
  Result<PrintEnds> add(const std::string& prefix);

 private:
  LogForwarder(env::FileDescriptor control, int process) : control_(std::move(control)), process_(process) {}

  env::FileDescriptor control_;
  int process_;
};

}  // namespace orrery::elastic
