#pragma once
// A process of a training job on one or several hosts that continues when others die, join or leave: the protocol of
// memberships and steps (membership/protocol.h) on real processes.
//
//   ORRERY_TRY(auto worker, Worker::start(env, options));
//   while (worker->progress().step < steps) {
//     compute gradients of worker->own_samples(); sum them up with worker->session();        // results are kept aside
//     ORRERY_TRY(StepOutcome outcome, worker->finish_step(status of those operations));
//     if (outcome == StepOutcome::kEnded) break;
//   }
//
// The results of a step take effect in the callback `commit`, on all workers or on none. If finish_step() returns
// kChanged, the membership has changed: the step has been committed or not (see progress()), and the next one is
// computed with the new session, ranks and samples.
//
// Deaths are noticed by the slot leases. Joins, leaves and other requests arrive as messages between steps and wait for
// the end of the next one: its votes say whether the leader knows of such a request, and then no worker begins another
// step before the membership has changed. New workers get the model from the others through the new session (`state`):
// while all wait, or, with `lanes`, between steps that continue meanwhile. In the second case the new worker is a
// learner at first: it takes part in all operations, without samples of its own.
//
// If workers are on several hosts (their records have addresses), sessions use TCP between hosts and shared memory
// inside them (net/two_level.h), and the end of a worker on another host is noticed by its connections
// (net/peer_connections.h). There a worker that cannot be reached need not be dead: the majority continues without it,
// see QuorumRule. A minority commits nothing; it ends after `partition_timeout`, or as soon as it learns that the
// others have continued: finish_step() is then kUnavailable.
//
// A process that the launcher of a job started (job/launcher.h) gets its options from job/enlist.h, waits until it is
// asked to join unless it is an initial worker, carries out the launcher's requests, and reports its progress. Without
// a launcher the job continues.

#include <functional>
#include <memory>
#include <optional>

#include "base/random.h"
#include "elastic/host/arena.h"
#include "elastic/job/note.h"
#include "elastic/membership/protocol.h"
#include "elastic/messenger.h"
#include "elastic/model_transfer.h"
#include "elastic/monitor/ema.h"
#include "elastic/net/two_level.h"
#include "elastic/session.h"
#include "env/clock.h"
#include "env/env.h"

namespace orrery::elastic {

struct WorkerOptions {
  std::string job;  // name of the job on this host
  std::shared_ptr<Segment> segment;
  WorkerRecord self{};
  std::optional<Membership> first{};    // of an initial worker: the same on all of them
  std::vector<WorkerId> contacts{};     // of a joining worker: workers it can ask; a launcher provides them
  std::vector<WorkerRecord> records{};  // of contacts on other hosts
  env::Credentials credentials{};       // of a job that spans hosts: known to its processes only
  Seconds partition_timeout{30};        // how long a minority waits for the others
  bool has_launcher = false;            // it listens under kLauncherName
  std::uint64_t seed = 1;               // of the irregular intervals at which lost messages are repeated
  // Lets the results of the step that was finished last take effect.
  std::function<void(const StepCommitted&)> commit{};
  // The model in its present place: read on workers that have it, written on those that get it.
  std::function<std::span<std::byte>()> state{};
  // What the program declares about the state, see model_transfer.h; the same on all workers. 0: nothing.
  std::uint64_t lanes = 0;
  bool is_fixed = false;  // no process can join later; the launcher refuses what needs one
  // Called after every step: whether this process has to leave, because of a signal for example.
  std::function<bool()> must_leave{};
  Staged::Probe probe{};  // called at cut points; for tests
};

enum class StepOutcome {
  kCommitted,
  kChanged,  // a new membership has begun
  kEnded,    // no longer a worker: left or expelled; or all workers have stopped at this step
};

// Belongs to the thread that started it.
class Worker {
 public:
  // Returns when the first membership with this process in it has begun.
  // What is in `env` must outlive it.
  static Result<std::unique_ptr<Worker>> start(env::Env env, WorkerOptions options);
  ~Worker();

  // Of the membership; there is none after kEnded.
  Collectives& session() { return *session_; }
  bool has_session() const { return session_ != nullptr; }
  Arena& arena() { return arena_; }
  const Membership& membership() const { return protocol_.membership(); }
  const TrainingProgress& progress() const { return protocol_.progress(); }
  int rank() const { return membership().rank_of(self_.id); }
  // Positions of the data that this rank has in the step to be computed; in order_of(progress().cursor). `weights` by
  // rank, the same on all of them, if the parts are not to be equal.
  DataRange own_samples(std::span<const std::uint64_t> weights = {}) const;

  // `operations` is the outcome of the operations of the step. An error that is not kUnavailable is returned.
  Result<StepOutcome> finish_step(const Status& operations);

  // Takes effect with the next membership; the membership changes between two steps. The last worker ends instead.
  void leave();
  bool is_leaving() const { return is_leaving_; }
  // A worker whose model is not complete yet. It has no samples; its `commit` is called as on all others.
  bool is_learner() const { return !protocol_.has_state(); }
  // All workers stop at the same step.
  void stop();
  // Takes effect from the step after the current one on, however often that has to be begun. A request is lost with the
  // worker that holds it: what must not be lost is requested by all workers at the same step.
  void set_parameter(std::string name, double value);
  // At once: operations of all workers end, and the current step is repeated in a new membership.
  Status set_parameter_at_once(std::string name, double value);
  // From now on waiting for other workers ends with kIo after this time: in operations, votes and membership changes.
  // This process is then of no further use to its job. Without a value there is no limit.
  void limit(std::optional<Seconds> longest);
  // Asks the launcher for another number of workers. Returns whether a launcher received it.
  bool request_size(std::uint64_t size);
  WorkerId id() const { return self_.id; }

 private:
  struct ParameterRequest {
    std::string name;
    double value = 0;
    std::uint64_t after_step = 0;
  };

  Worker(env::Env env, WorkerOptions options, std::unique_ptr<SlotLease> lease, std::unique_ptr<Messenger> messenger,
         MembershipProtocol protocol);
  Seconds now() const { return env_.clock.monotonic(); }
  Status pump(Seconds timeout);
  // Votes for the current step with all others. Returns whether the leader wants the membership to change.
  Result<bool> vote();
  void notice_deaths();
  void notice_death_here(const WorkerRecord& worker);
  void notice_loss(const WorkerRecord& worker);
  void tick_now_and_then();
  // Requests parameters that are due for the next membership. Returns whether there were any.
  bool submit_requests();
  bool is_wanting(const ParameterRequest& request) const;
  // An error once this process has been in a minority for too long, or no worker is left that has the model.
  Status check_partition();
  // Across hosts a majority is needed to continue, so no worker exits before all are at the end.
  void part();
  Status handle_events();
  Status handle(const Event& event);
  void handle(const Note& note);
  bool send_note(WorkerId to, const Note& note);
  void report();
  void report_now_and_then();
  // Waits until the launcher asks this process to join.
  Status wait_until_asked();
  // While joining: asks for contacts again. An error if no worker is left that could take this process in.
  Status look_for_contacts();
  bool has_ended() const;
  // This process is no longer a worker.
  Result<StepOutcome> ended() const;
  Status open_session();
  // Whether other workers have yet to reach the membership of `generation`.
  Status wait_for_others(std::uint64_t generation);
  // Shared memory on one host; TCP between hosts; both if hosts have several workers.
  Result<std::unique_ptr<Collectives>> open_collectives();
  Result<std::unique_ptr<Session>> open_here();
  Result<std::unique_ptr<net::Session>> open_between(const std::vector<int>& ranks);
  Result<std::unique_ptr<Collectives>> open_two_levels(const net::HostLayout& layout);
  Status transfer_model();
  // Transfers a piece of it, before a step takes effect.
  Status transfer_piece();
  void model_transferred();
  // Waits until a membership later than `generation` is open, or this process is no longer a worker.
  Result<StepOutcome> change_membership(std::uint64_t generation);

  env::Env env_;
  WorkerOptions options_;
  WorkerRecord self_;
  std::unique_ptr<SlotLease> lease_;
  Arena arena_;
  std::unique_ptr<Messenger> messenger_;
  MembershipProtocol protocol_;
  std::unique_ptr<Collectives> session_;
  std::optional<ModelTransfer> transfer_;  // while there are learners
  ModelTransfer::Position position_ = 0;   // of this learner
  bool membership_is_open_ = false;
  bool all_came_;  // every worker of the membership was reached at some time
  bool is_asked_ = false, is_leaving_ = false, is_stopping_ = false, last_report_sent_ = false;
  std::vector<ParameterRequest> parameter_requests_;
  std::optional<Seconds> longest_;  // see limit()
  Random random_;
  Seconds next_tick_{0}, next_report_{0}, launcher_heard_{0};
  Seconds last_commit_{0}, last_piece_{0}, quorum_seen_{0};
  std::uint64_t commit_generation_ = 0;  // of the last commit
  double pause_s_ = 0;                   // see Report
  Ema step_s_{.decay = 0.9}, vote_s_{.decay = 0.9};
};

}  // namespace orrery::elastic
