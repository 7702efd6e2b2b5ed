#pragma once
// The launcher's record of the processes of one job: which were started, which are workers, how they ended, and what is
// to be done so that the job has the wanted size. It is a pure state machine: observations go in, actions come out.
//
// Procedure, after every observation:
//   1. All other processes are told of a process that failed. It is replaced as long as `replacements` last; otherwise
//      the job is one smaller from then on. Below `size_min` the job is stopped.
//   2. Fewer workers than wanted: a standby worker is asked to join, the longest waiting first; without one a process
//      is started.
//   3. More than wanted: the youngest workers are asked to leave.
//   4. Used standby workers are replaced by new ones, once the joining workers have joined.
//   5. A training that no process can join later (it says so in its reports) is not resized, and is ended at once if it
//      was to have standby workers or replacements.
//   6. Once a worker has ended by itself with 0, the training is over: no process is started or replaced any more.
//      Without workers, standby workers are ended.
//
// On several hosts, processes are started where the fewest are. Those of a host that cannot be reached do not count
// until it is found again; they are not reported as dead, because that is not known. While no host can be reached
// nothing is decided: then it is the launcher that is cut off.
//
// Worker numbers count from 1 in the order of starts and are never used again.

#include <map>
#include <optional>
#include <set>
#include <variant>

#include "elastic/job/note.h"
#include "env/processes.h"

namespace orrery::elastic {

struct RosterOptions {
  std::string job;
  int size = 1;                                       // at first
  int size_min = 1, size_max = 1;                     // what it may become
  int standby = 0;                                    // kept ready
  int replacements = 0;                               // of processes that died, in all
  int slots = 1;                                      // for processes at the same time, on each host
  std::vector<std::vector<std::string>> addresses{};  // by host and slot; empty: one host, and no addresses
};

struct StartProcess {
  WorkerRecord worker{};
  bool is_initial = false;
};
struct Tell {
  WorkerId worker = 0;
  Note note{};
};
struct EndProcess {
  WorkerId worker = 0;
  env::Signal signal = env::Signal::kKill;
};
using Fact = std::variant<std::int64_t, double, std::string, std::vector<WorkerId>>;
using Facts = std::vector<std::pair<std::string, Fact>>;
struct Happened {     // for the event log
  std::string event;  // started, joined, left, died, resized, stopped
  Facts facts{};
  std::string text{};  // for users; may be empty
};
using Action = std::variant<StartProcess, Tell, EndProcess, Happened>;

class Roster {
 public:
  // Initial workers and standby workers are to be started. Precondition: check(options).
  explicit Roster(const RosterOptions& options);

  // Observations.
  void started(WorkerId worker, std::int64_t process);
  void on(const Ready& note);
  void on(const Report& note);
  void ended(WorkerId worker, const env::ProcessExit& exit);
  // The processes of a host cannot be reached, or can be again; those that ended meanwhile have been reported before.
  void host_lost(std::uint32_t host);
  void host_found(std::uint32_t host);
  // Some time has passed. Initial workers wait for each other, and may not have had a mailbox yet when one of them
  // ended.
  void remind();

  // Requests. An error says why one is refused.
  Status resize(std::uint64_t size);
  // All workers stop at the same step. Processes that have never reported get a signal.
  void stop();
  Status stop(WorkerId worker);
  // Ends every process at once.
  void kill_all();

  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  // No process is left that can be reached, and none is to be started.
  bool is_over() const;
  // 0 if the training ended well: a process ended with 0 by itself, not because it was told to leave, and no worker
  // failed after that. Else the exit code of the first that failed, 128 + the number of the signal if it was one; 1 if
  // all have left before the end.
  int exit_code() const;
  JobStatus status() const;
  // "demo: ended well after step 600: 3 workers; 5 processes, 1 died, 1 left".
  std::string summary() const;
  const std::vector<WorkerRecord>& initial_workers() const { return initial_workers_; }

 private:
  struct Entry {
    WorkerRecord record{};
    bool is_initial = false, is_standby = false;
    bool is_lost = false;       // its host is
    bool made_smaller = false;  // the job, when it was lost
    ProcessState state = ProcessState::kStarting;
    std::int64_t process = 0;
    Report last{};  // its last report; generation 0: none
    env::ProcessExit exit{};

    bool lives() const { return state != ProcessState::kEnded; }
    // Is or was in a membership with the model, or is an initial worker.
    bool has_state() const { return is_initial || last.generation > 0; }
    // Is a worker, or will be.
    bool counts() const { return lives() && !is_lost && !is_standby && state != ProcessState::kLeaving; }
  };

  void start(bool is_initial, bool is_standby);
  void tell(WorkerId worker, Note note) { actions_.push_back(Tell{worker, std::move(note)}); }
  void ask_to_join(Entry& entry);
  void ask_to_leave(Entry& entry);
  void balance();
  void end_idle();
  std::optional<WorkerRecord> free_place() const;
  bool reaches_any_host() const { return lost_hosts_.size() < hosts(); }
  std::size_t hosts() const { return std::max<std::size_t>(1, options_.addresses.size()); }
  void found_again(Entry& entry);
  int count() const;
  std::vector<WorkerRecord> contacts_for(WorkerId worker) const;
  void refuse_if_fixed(const Report& report);
  void note_membership(const Report& report);
  std::string workers_text() const;

  RosterOptions options_;
  int wanted_;
  std::map<WorkerId, Entry> entries_;
  std::set<std::uint32_t> lost_hosts_;
  std::vector<WorkerRecord> initial_workers_;
  WorkerId next_ = 1;
  int replaced_ = 0;
  bool is_stopping_ = false, is_finishing_ = false, is_too_small_ = false;
  bool is_fixed_ = false;         // no process can join later
  bool is_refused_ = false;       // for that reason
  bool came_to_the_end_ = false;  // of any process, by itself
  Report membership_{};           // the latest in which a worker committed a step
  std::uint64_t step_ = 0, epoch_ = 0;
  std::uint64_t resized_ = 0;  // generation of the last change whose pause is known
  double pause_s_ = 0;
  std::vector<WorkerId> failed_;  // in the order of their ends
  std::vector<Action> actions_;
};

Status check(const RosterOptions& options);

}  // namespace orrery::elastic
