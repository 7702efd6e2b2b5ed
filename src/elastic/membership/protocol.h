#pragma once
// The membership protocol of one worker: it agrees with the other workers on memberships and on which steps count. It
// is a pure state machine: messages and observations go in, messages and events come out; it has no clock, socket or
// thread. The same code runs in a job and in simulation.
//
// Steps. A worker that has complete results for step s votes for s. A worker that has the votes of all workers of its
// membership commits s: results that were kept aside take effect, and the data cursor advances.
//
// Membership changes are one agreement per generation, after Paxos (L. Lamport, "Paxos made simple", 2001). The workers
// of membership e are the acceptors of membership e + 1:
//   1. The leader is the first worker that it does not miss itself. It needs a reason: a worker is missing, or there is
//      a request that it does not hold back (hold_requests). It sends Collect with a new ballot.
//   2. A worker that receives Collect stops: it commits no step of generation e any more, and promises to follow no
//      lower ballot. It answers with its progress and with the membership it has accepted before, if any.
//   3. With the promises of a quorum, and of every worker it does not miss, the leader proposes the accepted membership
//      of the highest ballot, if there is one. Otherwise it proposes the workers that have promised, without those that
//      leave, with those that join, at the farthest progress among them. If two workers name the same slot lease, the
//      later one is meant. Requests of a worker that has not promised are dropped with it.
//   4. A worker that has promised no higher ballot accepts. With a quorum of acceptances the membership is decided, and
//      Commit tells all old and new workers. If the leader is lost, the next one does the same with a higher ballot,
//      and ends with the same membership if one may have been decided.
//
// Why steps are atomic. A step that any worker committed had the votes of all workers, so all have its results. Workers
// of the next membership have all told their progress after they stopped, so the membership's progress is at least that
// of each, and at most one step more than that of any. Installing the membership commits that step where it was not
// committed, and drops results that were only voted for. A commit that only lost workers knew is lost with them, and so
// are their requests made after it: a membership never contains a request that is newer than its progress.
//
// A joining worker has no model yet. Either the others wait until it has, or it follows them meanwhile as a learner: it
// votes and commits as they do, because it gets the results of every step, and has the model once it has caught up.
// Until then it counts as a worker without the model.
//
// The majority can continue (on one host: all workers that are not dead; see QuorumRule). A minority stops by itself:
// it gets no quorum, and in the old generation it lacks the others' votes. When it receives a later membership without
// it, it is expelled.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "elastic/membership/message.h"

namespace orrery::elastic {

// Events, on which the owner of the protocol has to act.
struct Stopped {  // the generation is over: abandon all of its operations
  std::uint64_t generation = 0;
};
struct StepCommitted {           // let the results of this step take effect
  std::uint64_t generation = 0;  // in which it was voted for
  TrainingProgress progress{};   // after the step
};
struct Installed {  // start the membership; drop all results that have not taken effect
  Membership membership{};
  bool needs_state = false;  // get the model from the others, then call state_received(); see also follow()
  bool follows = false;      // it has followed until here: its copy of the model is as of membership.progress
};
struct Ended {  // it is no longer a worker of the job
  bool by_own_request = false;
};
using Event = std::variant<Stopped, StepCommitted, Installed, Ended>;

enum class MembershipState {
  kJoining,  // in no membership yet
  kActive,
  kStopped,  // it has promised, and is between memberships
  kEnded,
};

class MembershipProtocol {
 public:
  // A worker of the first membership, which all its workers are given.
  MembershipProtocol(WorkerId self, const Membership& first);
  // A worker that joins. `contacts` are workers that it can ask; they tell it of others.
  MembershipProtocol(const WorkerRecord& self, std::vector<WorkerId> contacts);

  // Observations. They may be repeated and may come in any order.
  void receive(const Message& message);
  // The worker cannot be reached. `certain`: it is dead and will never act again.
  void miss(WorkerId id, bool certain);
  // The generation cannot continue, for a reason other than the absence of a worker.
  void end_generation();
  // The worker can be reached again, unless it is certainly dead.
  void find_again(WorkerId id);
  // Some time has passed: repeats messages that may have been lost. Call it at irregular intervals, so that two workers
  // that lead at the same time do not overrule each other for ever.
  void tick();

  // While joining: workers that can be asked, instead of those known so far. They are asked at once.
  void set_contacts(std::vector<WorkerId> contacts);

  // Requests of this worker.
  void leave() { request(Leave{}); }
  void set_parameter(std::string name, double value) { request(SetParameter{std::move(name), value}); }
  // Requests wait, so that the current step is not wasted, until they are released or the membership changes for
  // another reason.
  void hold_requests();
  void release_requests();
  // Whether there is a request that the next membership would fulfil.
  bool has_request() const;
  // Whether this worker is the one that changes the membership.
  bool leads() const { return leader() == self_.id; }
  // Complete results for the step after progress() are there. Call it only when may_vote().
  void vote();
  bool may_vote() const {
    return state_ == MembershipState::kActive && (has_state_ || follows_) && voted_ == progress_.step;
  }
  // After Installed with needs_state: takes part in the steps of the others from membership().progress on.
  void follow() { follows_ = true; }
  // This worker has the model at progress().
  void state_received();

  MembershipState state() const { return state_; }
  WorkerId id() const { return self_.id; }
  const Membership& membership() const { return membership_; }
  const TrainingProgress& progress() const { return progress_; }
  bool has_state() const { return has_state_; }
  // Whether a worker that may have the model can be reached.
  bool reaches_state() const;
  // Whether the workers it does not miss are enough to change the membership.
  bool reaches_quorum() const;
  // While joining: workers that it can ask.
  const std::vector<WorkerId>& contacts() const { return contacts_; }

  std::vector<Message> take_messages() { return std::exchange(messages_, {}); }
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

 private:
  // An attempt to lead to the next membership.
  struct Attempt {
    std::uint64_t ballot = 0;
    std::map<WorkerId, Promise> promises{};
    std::optional<Membership> proposal{};
    std::set<WorkerId> accepted{};
  };

  void on(WorkerId from, const Collect& message);
  void on(WorkerId from, const Promise& message);
  void on(WorkerId from, const Propose& message);
  void on(WorkerId from, const Accept& message);
  void on(WorkerId from, const Refuse& message);
  void on(WorkerId from, const Commit& message);
  void on(WorkerId from, const Query& message);
  void on(WorkerId from, const Ask& message);
  void on(WorkerId from, const Vote& message);

  void send(WorkerId to, MessageBody body);
  void send_to_workers(const MessageBody& body);
  void request(std::variant<Join, Leave, SetParameter> what);
  void remember(const Request& request);
  void forward_requests();

  bool is_missing(WorkerId id) const;
  WorkerId leader() const;
  bool has_reason() const;
  bool all_have_state() const;
  bool is_quorum(const std::set<WorkerId>& ids) const;
  // Returns true for the same generation. To an older one it answers with its membership, to a later one with a Query.
  bool is_current(WorkerId from, std::uint64_t generation);

  void stop();
  Promise promise(std::uint64_t ballot) const;
  void lead_if_needed();
  void begin_attempt();
  void propose_if_possible();
  void commit_if_decided();
  std::optional<Membership> next_membership() const;
  std::optional<Membership> next_membership(bool with_leaves) const;
  void fulfil(const Request& request, Membership& membership) const;
  void commit_step_if_voted();
  void commit_step();
  void install(const Membership& membership);

  WorkerRecord self_;
  std::vector<WorkerId> contacts_;
  MembershipState state_;
  Membership membership_;
  TrainingProgress progress_;
  bool has_state_ = false, follows_ = false;

  std::uint64_t voted_ = 0;                  // own: highest step
  std::map<WorkerId, std::uint64_t> votes_;  // of others: highest step
  std::set<WorkerId> have_state_;            // which of the workers without it at the start of the membership

  std::uint64_t promised_ = 0;
  std::uint64_t accepted_ballot_ = 0;
  std::optional<Membership> accepted_;
  std::optional<Attempt> attempt_;
  std::uint64_t highest_ballot_ = 0;  // of all ballots received

  std::set<WorkerId> missing_, dead_;
  std::vector<Request> requests_;
  std::uint64_t parameter_requests_ = 0;  // own, so far
  bool wants_to_leave_ = false, holds_requests_ = false;

  std::vector<Message> messages_;
  std::vector<Event> events_;
};

}  // namespace orrery::elastic
