#pragma once
// One worker of a job: agrees with the others on memberships and on which steps count. A pure state machine: messages
// and observations go in, messages and events come out; no clock, no socket, no thread. What runs in a job is what is
// simulated.
//
// Steps. A worker that has complete results for step s votes for s. Who has the votes of all workers of its membership
// commits s: results that were kept aside take effect, the data cursor moves on.
//
// Membership changes (one agreement per generation, after Paxos; L. Lamport, "Paxos made simple", 2001). The workers of
// membership e are the acceptors of membership e + 1:
//   1. The leader, the first worker that it does not miss itself, has a reason: someone is missing, or a request that
//      it does not hold back (hold_requests). It sends Collect with a new ballot.
//   2. Who gets it stops: it commits no step of generation e any more, and promises to follow no lower ballot. It
//      answers how far it is and what it has accepted before.
//   3. With the promises of a quorum, and of everyone it does not miss, the leader proposes: the accepted membership of
//   the
//      highest ballot, if there is one; otherwise the workers that have promised, without those that leave, with those
//      that join, at the farthest progress among them. Of two that name the same lease the later one is meant. What was
//      requested for by one that has not promised is dropped with it.
//   4. Who has promised no higher ballot accepts. With a quorum of acceptances the membership is decided, and Commit
//   tells
//      all old and new workers. If the leader is lost, the next one does the same with a higher ballot and ends with
//      the same membership if one may have been decided.
//
// Why steps are atomic. A step that anyone committed had everyone's vote, so everyone has its results. Workers of the
// next membership have all told their progress after they stopped, so the membership's progress is at least that of
// each, and at most one step more than that of any. Installing the membership commits that step where it was not, and
// drops what was only voted for. A commit that only lost workers knew is lost with them, and so is what they decided
// after it: a membership never has a request that is newer than its progress.
//
// Who joins has no model yet. Either the others wait until it has, or it follows them meanwhile: it votes and commits
// as they do, because it gets the results of every step, and has the model once it has caught up. Until then it counts
// as one without.
//
// Who is in the majority can go on (or, on one host, who is not dead: see QuorumRule). A minority stops by itself: it
// gets no quorum, and in the old generation it lacks the others' votes. When it hears of a later membership without it,
// it is expelled.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "elastic/membership/message.h"

namespace orrery::elastic {

// What a worker's owner has to act on.
struct Stopped {  // the generation is over: give up all of its operations
  std::uint64_t generation = 0;
};
struct StepCommitted {           // let the results of this step take effect
  std::uint64_t generation = 0;  // that it was voted for in
  TrainingProgress progress{};   // after it
};
struct Installed {  // start the membership; drop all results that have not taken effect
  Membership membership{};
  bool needs_state = false;  // get the model from the others, then call state_received(); see also follow()
  bool follows = false;      // it has followed until here: what it has of the model is as of membership.progress
};
struct Ended {  // no worker any more
  bool by_own_request = false;
};
using Event = std::variant<Stopped, StepCommitted, Installed, Ended>;

enum class MembershipState {
  kJoining,  // in no membership yet
  kActive,
  kStopped,  // promised: between memberships
  kEnded,
};

class MembershipProtocol {
 public:
  // A worker of the first membership, which all its workers give.
  MembershipProtocol(WorkerId self, const Membership& first);
  // One that wants to join. `contacts` are workers that it can ask; they tell it of others.
  MembershipProtocol(const WorkerRecord& self, std::vector<WorkerId> contacts);

  // Observations. Everything may be repeated, and come in any order.
  void receive(const Message& message);
  // The worker cannot be reached. `certain`: it is dead and will never act again.
  void miss(WorkerId id, bool certain);
  // The generation cannot go on, for a reason that is no worker's absence.
  void end_generation();
  // It can be reached again, unless it is certainly dead.
  void find_again(WorkerId id);
  // Some time has passed: repeat what may have been lost. Call it in irregular intervals, so that two who try at the
  // same time do not do so for ever.
  void tick();

  // While joining: workers that can be asked, instead of those known so far. They are asked at once.
  void set_contacts(std::vector<WorkerId> contacts);

  // Own requests.
  void leave() { request(Leave{}); }
  void set_parameter(std::string name, double value) { request(SetParameter{std::move(name), value}); }
  // Requests wait, so that a step at hand is not in vain: until they are let go, or the membership changes for another
  // reason.
  void hold_requests();
  void release_requests();
  // One that the next membership would fulfil.
  bool has_request() const;
  // Whether it is up to this worker to change the membership.
  bool leads() const { return leader() == self_.id; }
  // Complete results for the step after progress() are there. Only when may_vote().
  void vote();
  bool may_vote() const {
    return state_ == MembershipState::kActive && (has_state_ || follows_) && voted_ == progress_.step;
  }
  // After Installed with needs_state: goes along with the steps of the others from membership().progress on.
  void follow() { follows_ = true; }
  // The model at progress() is there.
  void state_received();

  MembershipState state() const { return state_; }
  WorkerId id() const { return self_.id; }
  const Membership& membership() const { return membership_; }
  const TrainingProgress& progress() const { return progress_; }
  bool has_state() const { return has_state_; }
  // Whether anyone who may have the model can be reached.
  bool reaches_state() const;
  // Whether those it does not miss are enough to change the membership.
  bool reaches_quorum() const;
  // Of one that wants to join: workers that it can ask.
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
  // Same generation: true. An older one is answered with the membership it does not know, a later one with the question
  // for it.
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
  std::set<WorkerId> have_state_;            // of those without it at the beginning of the membership

  std::uint64_t promised_ = 0;
  std::uint64_t accepted_ballot_ = 0;
  std::optional<Membership> accepted_;
  std::optional<Attempt> attempt_;
  std::uint64_t highest_ballot_ = 0;  // heard of

  std::set<WorkerId> missing_, dead_;
  std::vector<Request> requests_;
  std::uint64_t parameter_requests_ = 0;  // own, so far
  bool wants_to_leave_ = false, holds_requests_ = false;

  std::vector<Message> messages_;
  std::vector<Event> events_;
};

}  // namespace orrery::elastic
