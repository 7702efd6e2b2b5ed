#pragma once
// Child processes. The owner of a Process owns the child: destroying the handle kills and reaps it, so no child
// outlives its handle unnoticed.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "env/poller.h"

namespace orrery::env {

enum class Output { kInherit, kCapture, kDiscard, kDescriptors };

enum class Signal : int { kInterrupt = 2, kKill = 9, kTerminate = 15, kContinue = 18, kStop = 19 };

struct ProcessSpec {
  std::vector<std::string> argv{};                   // argv[0] is looked up in PATH unless it contains '/'
  std::map<std::string, std::string> environment{};  // added to ours, replacing variables of the same name
  std::string working_directory{};                   // empty: ours
  Output output = Output::kInherit;                  // where stdout and stderr go; stdin is always empty
  Bytes output_max = mebibytes(16);                  // of each captured stream; what comes after is dropped
  std::array<int, 2> descriptors = {-1, -1};         // kDescriptors: copies of these become stdout and stderr
  bool own_group = false;                            // kill() reaches the child's own children too
};

// How a process ended: by exiting with a code, or by a signal.
struct ProcessExit {
  int code = 0;    // meaningful if signal is 0
  int signal = 0;  // the number of the signal that ended it, or 0

  bool ok() const { return signal == 0 && code == 0; }
  friend bool operator==(const ProcessExit&, const ProcessExit&) = default;
};

// "exit code 3", "killed by signal 9".
std::string to_string(const ProcessExit& exit);

// A running or ended child. Used by one thread at a time.
class Process : public Pollable {
 public:
  virtual std::int64_t id() const = 0;
  // Waits at most `timeout` for the end and takes in captured output meanwhile. Empty: still running. A child that
  // writes more than a pipe holds blocks until the caller waits, so poll long-running ones with a timeout of 0.
  virtual Result<std::optional<ProcessExit>> wait(Seconds timeout) = 0;
  // Sends a signal; nothing happens if the process has ended.
  virtual Status kill(Signal signal) = 0;
  // What was captured up to the last wait().
  virtual const std::string& standard_output() const = 0;
  virtual const std::string& standard_error() const = 0;
};

// Requests of others that this process should end: SIGINT, SIGTERM, SIGHUP. While it exists they do not end it.
class EndRequests : public Pollable {
 public:
  // How many have come since the last call.
  virtual int take() = 0;
};

class Processes {
 public:
  virtual ~Processes() = default;

  // Starts a program. kNotFound if the program or the working directory does not exist. Precondition: argv is not
  // empty.
  virtual Result<std::unique_ptr<Process>> spawn(const ProcessSpec& spec) = 0;
  // For a process with one thread, which also no longer ends when it writes to a closed pipe.
  virtual Result<std::unique_ptr<EndRequests>> end_requests() = 0;
  // Kills all processes that were started with this variable in their environment, and their descendants that still have
  // it, except this one. Returns how many there were. Those that this user may not look into are left
  // alone.
  virtual int kill_marked(const std::string& variable, const std::string& value) = 0;
  // The number of this process.
  virtual std::int64_t own_id() const = 0;
};

}  // namespace orrery::env
