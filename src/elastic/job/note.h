#pragma once
// The messages between the launcher of a job, its processes and commands of the user, by mailbox.
//
// The workers agree among themselves on the membership (membership/protocol.h); notes only start such changes and
// report them. Losing a note loses time, never the job: a process that needs an answer asks again, and workers continue
// without a launcher.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/codec.h"
#include "elastic/membership/membership.h"

namespace orrery::elastic {

// The name of the launcher's mailbox: no worker has it.
inline constexpr std::uint64_t kLauncherName = 0;
// How often the topology was measured again. A membership that raises it begins with a measurement.
inline constexpr const char* kTopologyParameter = "topology";

// To processes.
struct JoinNow {  // "ask these workers to take you in"
  std::vector<WorkerRecord> contacts{};
  void exchange(Codec& fields) { fields(contacts); }
  friend bool operator==(const JoinNow&, const JoinNow&) = default;
};
struct LeaveNow {  // "leave between two steps"
  void exchange(Codec&) {}
  friend bool operator==(const LeaveNow&, const LeaveNow&) = default;
};
struct StopNow {  // "let all workers stop between two steps"
  void exchange(Codec&) {}
  friend bool operator==(const StopNow&, const StopNow&) = default;
};
struct Died {  // "this process has ended, in whatever way; it will never act again"
  WorkerId worker = 0;
  void exchange(Codec& fields) { fields(worker); }
  friend bool operator==(const Died&, const Died&) = default;
};

// To the launcher.
struct Ready {  // "I have started and can join"
  WorkerId worker = 0;
  void exchange(Codec& fields) { fields(worker); }
  friend bool operator==(const Ready&, const Ready&) = default;
};
struct Report {  // "I am in this membership, so far"
  WorkerId worker = 0;
  std::uint64_t generation = 0, step = 0, epoch = 0;
  std::vector<WorkerId> workers{};  // of the membership
  double pause_s = 0;          // between the last step of the membership before and the first of this; 0: not yet known
  bool is_leaving = false;     // by its own request or by an order
  bool has_committed = false;  // a step in this membership
  bool is_fixed = false;       // no process can join this training later
  double step_s = 0, vote_s = 0;  // time of a step, and of it, waiting for votes; running means, 0: not yet known
  void exchange(Codec& fields) {
    fields(worker, generation, step, epoch, workers, pause_s, is_leaving, has_committed, is_fixed, step_s, vote_s);
  }
  friend bool operator==(const Report&, const Report&) = default;
};

// A question or a request to the launcher, and its answer.
enum class LauncherRequest { kStatus, kResize, kStop };
struct AskLauncher {
  std::uint64_t from = 0, number = 0;  // the mailbox to answer, and about what; 0: no answer is expected
  LauncherRequest request = LauncherRequest::kStatus;
  std::uint64_t size = 0;  // of kResize
  WorkerId worker = 0;     // of kStop; 0: the whole job
  void exchange(Codec& fields) {
    fields(from, number, size, worker);
    fields.choice(request, LauncherRequest::kStop);
  }
  friend bool operator==(const AskLauncher&, const AskLauncher&) = default;
};

// What a process of a job is doing.
enum class ProcessState {
  kStarting,  // has not reported yet
  kWaiting,   // a standby, ready to join
  kJoining,
  kWorker,
  kLeaving,
  kEnded,
};
std::string_view to_string(ProcessState state);

struct ProcessStatus {
  WorkerId worker = 0;
  std::int64_t process = 0;  // the id that the machine gave it
  ProcessState state = ProcessState::kStarting;
  std::uint64_t generation = 0, step = 0;
  double step_s = 0, vote_s = 0;  // see Report
  void exchange(Codec& fields) {
    fields(worker, process, generation, step, step_s, vote_s);
    fields.choice(state, ProcessState::kEnded);
  }
  friend bool operator==(const ProcessStatus&, const ProcessStatus&) = default;
};

struct JobStatus {
  std::string job;
  std::int64_t launcher = 0;                          // its process
  std::uint64_t size = 0;                             // that is wanted
  std::uint64_t size_min = 0, size_max = 0;           // that can be asked for
  std::uint64_t generation = 0, step = 0, epoch = 0;  // as last reported
  std::vector<WorkerId> workers{};                    // of that generation
  double pause_s = 0;                                 // of the last change; 0: none yet
  bool is_stopping = false;
  std::vector<ProcessStatus> processes{};  // that live
  void exchange(Codec& fields) {
    fields(job, launcher, size, size_min, size_max, generation, step, epoch, workers, pause_s, is_stopping, processes);
  }
  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

struct Answer {
  std::uint64_t number = 0;
  std::string problem{};  // empty: the request is granted
  JobStatus status{};
  void exchange(Codec& fields) { fields(number, problem, status); }
  friend bool operator==(const Answer&, const Answer&) = default;
};

using Note = std::variant<JoinNow, LeaveNow, StopNow, Died, Ready, Report, AskLauncher, Answer>;

// Notes differ from messages of workers in their first bytes, which also name the version.
std::string encode(const Note& note);
bool is_note(std::string_view bytes);
// Any bytes give a note or an error.
Result<Note> decode_note(std::string_view bytes);

// Whether a job can have this name: 1 to 40 letters, digits, '.', '-' and '_'.
Status check_job_name(std::string_view name);

}  // namespace orrery::elastic
