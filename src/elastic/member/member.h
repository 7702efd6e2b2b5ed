#pragma once
// One member of a job: agrees with the others on views and on which steps count. A pure state machine: messages and
// observations go in, messages and events come out; no clock, no socket, no thread. What runs in a job is what is
// simulated.
//
// Steps. A member that has complete results for step s votes for s. Who has the votes of all members of its view
// commits s: results that were kept aside take effect, the data cursor moves on.
//
// View changes (one agreement per epoch, after Paxos; L. Lamport, "Paxos made simple", 2001). The members of view e are
// the acceptors of view e + 1:
//   1. The leader, the first member that it does not miss itself, has a reason: someone is missing, or a request that
//      it does not hold back (hold_requests). It sends Collect with a new ballot.
//   2. Who gets it stops: it commits no step of epoch e any more, and promises to follow no lower ballot. It
//      answers how far it is and what it has accepted before.
//   3. With the promises of a quorum, and of everyone it does not miss, the leader proposes: the accepted view of the
//      highest ballot, if there is one; otherwise the members that have promised, without those that leave, with those
//      that join, at the farthest progress among them. Of two that name the same seat the later one is meant. What was
//      wished for by one that has not promised is dropped with it.
//   4. Who has promised no higher ballot accepts. With a quorum of acceptances the view is decided, and Commit tells
//      all old and new members. If the leader is lost, the next one does the same with a higher ballot and ends with
//      the same view if one may have been decided.
//
// Why steps are atomic. A step that anyone committed had everyone's vote, so everyone has its results. Members of the
// next view have all told their progress after they stopped, so the view's progress is at least that of each, and at
// most one step more than that of any. Installing the view commits that step where it was not, and drops what was only
// voted for. A commit that only lost members knew is lost with them, and so is what they decided after it: a view never
// has a wish that is newer than its progress.
//
// Who joins has no model yet. Either the others wait until it has, or it follows them meanwhile: it votes and commits
// as they do, because it gets the results of every step, and has the model once it has caught up. Until then it counts
// as one without.
//
// Who is in the majority can go on (or, on one host, who is not dead: see QuorumRule). A minority stops by itself: it
// gets no quorum, and in the old epoch it lacks the others' votes. When it hears of a later view without it, it is
// expelled.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "elastic/member/message.h"

namespace orrery::elastic {

// What a member's owner has to act on.
struct Stopped {  // the epoch is over: give up all of its operations
  std::uint64_t epoch = 0;
};
struct StepCommitted {          // let the results of this step take effect
  std::uint64_t epoch = 0;      // that it was voted for in
  TrainingProgress progress{};  // after it
};
struct Installed {  // start the view; drop all results that have not taken effect
  View view{};
  bool needs_state = false;  // get the model from the others, then call state_received(); see also follow()
  bool follows = false;      // it has followed until here: what it has of the model is as of view.progress
};
struct Ended {  // no member any more
  bool by_own_wish = false;
};
using Event = std::variant<Stopped, StepCommitted, Installed, Ended>;

enum class MemberState {
  kJoining,  // in no view yet
  kActive,
  kStopped,  // promised: between views
  kEnded,
};

class Member {
 public:
  // A member of the first view, which all its members give.
  Member(MemberId self, const View& first);
  // One that wants to join. `contacts` are members that it can ask; they tell it of others.
  Member(const MemberRecord& self, std::vector<MemberId> contacts);

  // Observations. Everything may be repeated, and come in any order.
  void receive(const Message& message);
  // The member cannot be reached. `certain`: it is dead and will never act again.
  void miss(MemberId id, bool certain);
  // The epoch cannot go on, for a reason that is no member's absence.
  void end_epoch();
  // It can be reached again, unless it is certainly dead.
  void find_again(MemberId id);
  // Some time has passed: repeat what may have been lost. Call it in irregular intervals, so that two who try at the
  // same time do not do so for ever.
  void tick();

  // While joining: members that can be asked, instead of those known so far. They are asked at once.
  void set_contacts(std::vector<MemberId> contacts);

  // Own wishes.
  void leave() { wish(Leave{}); }
  void set_parameter(std::string name, double value) { wish(SetParameter{std::move(name), value}); }
  // Requests wait, so that a step at hand is not in vain: until they are let go, or the view changes for another
  // reason.
  void hold_requests();
  void release_requests();
  // One that the next view would fulfil.
  bool has_request() const;
  // Whether it is up to this member to change the view.
  bool leads() const { return leader() == self_.id; }
  // Complete results for the step after progress() are there. Only when may_vote().
  void vote();
  bool may_vote() const {
    return state_ == MemberState::kActive && (has_state_ || follows_) && voted_ == progress_.step;
  }
  // After Installed with needs_state: goes along with the steps of the others from view().progress on.
  void follow() { follows_ = true; }
  // The model at progress() is there.
  void state_received();

  MemberState state() const { return state_; }
  MemberId id() const { return self_.id; }
  const View& view() const { return view_; }
  const TrainingProgress& progress() const { return progress_; }
  bool has_state() const { return has_state_; }
  // Whether anyone who may have the model can be reached.
  bool reaches_state() const;
  // Whether those it does not miss are enough to change the view.
  bool reaches_quorum() const;
  // Of one that wants to join: members that it can ask.
  const std::vector<MemberId>& contacts() const { return contacts_; }

  std::vector<Message> take_messages() { return std::exchange(messages_, {}); }
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

 private:
  // An attempt to lead to the next view.
  struct Attempt {
    std::uint64_t ballot = 0;
    std::map<MemberId, Promise> promises{};
    std::optional<View> proposal{};
    std::set<MemberId> accepted{};
  };

  void on(MemberId from, const Collect& message);
  void on(MemberId from, const Promise& message);
  void on(MemberId from, const Propose& message);
  void on(MemberId from, const Accept& message);
  void on(MemberId from, const Refuse& message);
  void on(MemberId from, const Commit& message);
  void on(MemberId from, const Query& message);
  void on(MemberId from, const Ask& message);
  void on(MemberId from, const Vote& message);

  void send(MemberId to, MessageBody body);
  void send_to_members(const MessageBody& body);
  void wish(std::variant<Join, Leave, SetParameter> what);
  void remember(const Request& request);
  void forward_requests();

  bool is_missing(MemberId id) const;
  MemberId leader() const;
  bool has_reason() const;
  bool all_have_state() const;
  bool is_quorum(const std::set<MemberId>& ids) const;
  // Same epoch: true. An older one is answered with the view it does not know, a later one with the question for it.
  bool is_current(MemberId from, std::uint64_t epoch);

  void stop();
  Promise promise(std::uint64_t ballot) const;
  void lead_if_needed();
  void begin_attempt();
  void propose_if_possible();
  void commit_if_decided();
  std::optional<View> next_view() const;
  std::optional<View> next_view(bool with_leaves) const;
  void fulfil(const Request& request, View& view) const;
  void commit_step_if_voted();
  void commit_step();
  void install(const View& view);

  MemberRecord self_;
  std::vector<MemberId> contacts_;
  MemberState state_;
  View view_;
  TrainingProgress progress_;
  bool has_state_ = false, follows_ = false;

  std::uint64_t voted_ = 0;                  // own: highest step
  std::map<MemberId, std::uint64_t> votes_;  // of others: highest step
  std::set<MemberId> have_state_;            // of those without it at the beginning of the view

  std::uint64_t promised_ = 0;
  std::uint64_t accepted_ballot_ = 0;
  std::optional<View> accepted_;
  std::optional<Attempt> attempt_;
  std::uint64_t highest_ballot_ = 0;  // heard of

  std::set<MemberId> missing_, dead_;
  std::vector<Request> requests_;
  std::uint64_t wishes_ = 0;  // own, so far
  bool wants_to_leave_ = false, holds_requests_ = false;

  std::vector<Message> messages_;
  std::vector<Event> events_;
};

}  // namespace orrery::elastic
