#include "elastic/membership/protocol.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::elastic {

namespace {

bool shares_slot(const WorkerRecord& one, const WorkerRecord& other) {
  return one.host == other.host && one.slot == other.slot && one.id != other.id;
}

// A slot lease has one owner at a time: the worker with the higher id came later and found it free. So a joining worker
// that had it before is dead.
bool is_outdated(const Request& request, const Membership& membership) {
  const auto* const join = std::get_if<Join>(&request.request);
  return join != nullptr &&
         std::any_of(membership.workers.begin(), membership.workers.end(), [&](const WorkerRecord& worker) {
           return shares_slot(worker, join->worker) && worker.id > join->worker.id;
         });
}

// Several workers may request the same; one membership fulfils all of these requests.
bool is_fulfilled(const Request& request, const Membership& membership) {
  const auto* const set = std::get_if<SetParameter>(&request.request);
  if (set == nullptr) return false;
  const auto now = membership.parameters.find(set->name);
  return now != membership.parameters.end() && now->second == set->value;
}

}  // namespace

MembershipProtocol::MembershipProtocol(WorkerId self, const Membership& first)
    : state_(MembershipState::kActive), membership_(first), progress_(first.progress), has_state_(true) {
  const int rank = first.rank_of(self);
  ORRERY_CHECK(rank >= 0);
  self_ = first.workers[static_cast<std::size_t>(rank)];
  voted_ = progress_.step;
}

MembershipProtocol::MembershipProtocol(const WorkerRecord& self, std::vector<WorkerId> contacts)
    : self_(self), contacts_(std::move(contacts)), state_(MembershipState::kJoining) {
  request(Join{self});
}

void MembershipProtocol::set_contacts(std::vector<WorkerId> contacts) {
  if (state_ != MembershipState::kJoining) return;
  contacts_ = std::move(contacts);
  forward_requests();
}

void MembershipProtocol::send(WorkerId to, MessageBody body) {
  if (to != self_.id) messages_.push_back({self_.id, to, std::move(body)});
}

void MembershipProtocol::send_to_workers(const MessageBody& body) {
  for (const WorkerRecord& worker : membership_.workers) send(worker.id, body);
}

void MembershipProtocol::request(std::variant<Join, Leave, SetParameter> what) {
  if (std::holds_alternative<Leave>(what)) wants_to_leave_ = true;
  remember({self_.id, ++parameter_requests_, std::move(what)});
  forward_requests();
  lead_if_needed();
}

void MembershipProtocol::remember(const Request& request) {
  if (dead_.contains(request.origin) || is_outdated(request, membership_) || is_fulfilled(request, membership_)) return;
  const auto applied = membership_.applied.find(request.origin);
  if (applied != membership_.applied.end() && applied->second >= request.number) return;
  const auto known = std::find_if(requests_.begin(), requests_.end(), [&](const Request& other) {
    return other.origin == request.origin && other.number == request.number;
  });
  if (known == requests_.end() && requests_.size() < kRequestsMax) requests_.push_back(request);
}

void MembershipProtocol::forward_requests() {
  if (state_ == MembershipState::kJoining) {
    for (const WorkerId contact : contacts_) send(contact, Ask{requests_.front()});
    return;
  }
  const WorkerId to = leader();
  if (to == self_.id) return;
  for (const Request& request : requests_) send(to, Ask{request});
}

void MembershipProtocol::on(WorkerId from, const Ask& message) {
  if (state_ == MembershipState::kJoining) return;
  const auto applied = membership_.applied.find(message.request.origin);
  if (applied != membership_.applied.end() && applied->second >= message.request.number) {
    // The request is fulfilled, but its sender has not received the membership.
    send(from, Commit{membership_});
    return;
  }
  // A joining worker learns which other workers to ask: those it knows may be gone before it has joined.
  if (message.request.origin == from && std::holds_alternative<Join>(message.request.request))
    send(from, Commit{membership_});
  remember(message.request);
  if (leader() != self_.id) send(leader(), message);
  lead_if_needed();
}

bool MembershipProtocol::is_missing(WorkerId id) const {
  if (dead_.contains(id)) return true;
  return membership_.rule() == QuorumRule::kMajority && missing_.contains(id);
}

WorkerId MembershipProtocol::leader() const {
  for (const WorkerRecord& worker : membership_.workers) {
    if (!is_missing(worker.id)) return worker.id;
  }
  return self_.id;
}

// Any two quorums of one membership have a worker in common; Paxos needs nothing else of them. Two majorities overlap,
// and so does a majority with the half that has the first worker. Under kSurvivors a quorum lacks only dead workers, so
// it contains every live acceptor, the next leader included. Therefore dead_ must be certain: a worker in it that still
// acted could decide another membership.
bool MembershipProtocol::is_quorum(const std::set<WorkerId>& ids) const {
  if (membership_.rule() == QuorumRule::kSurvivors) {
    return std::all_of(membership_.workers.begin(), membership_.workers.end(), [&](const WorkerRecord& worker) {
      return ids.contains(worker.id) || dead_.contains(worker.id);
    });
  }
  const std::size_t all = membership_.workers.size();
  const auto with =
      static_cast<std::size_t>(std::count_if(membership_.workers.begin(), membership_.workers.end(),
                                             [&](const WorkerRecord& worker) { return ids.contains(worker.id); }));
  return 2 * with > all || (2 * with == all && ids.contains(membership_.workers[0].id));
}

bool MembershipProtocol::reaches_quorum() const {
  std::set<WorkerId> here;
  for (const WorkerRecord& worker : membership_.workers) {
    if (!is_missing(worker.id)) here.insert(worker.id);
  }
  return is_quorum(here);
}

void MembershipProtocol::miss(WorkerId id, bool certain) {
  if (certain) dead_.insert(id);
  missing_.insert(id);
  if (certain) std::erase_if(requests_, [&](const Request& request) { return request.origin == id; });
  if (attempt_) {
    propose_if_possible();
    commit_if_decided();
  }
  lead_if_needed();
}

void MembershipProtocol::end_generation() {
  stop();
  lead_if_needed();
}

void MembershipProtocol::find_again(WorkerId id) {
  missing_.erase(id);
}

void MembershipProtocol::hold_requests() {
  holds_requests_ = true;
}

void MembershipProtocol::release_requests() {
  holds_requests_ = false;
  lead_if_needed();
}

bool MembershipProtocol::has_request() const {
  // No worker leaves before the joining workers have the model.
  const bool may_leave = all_have_state();
  return std::any_of(requests_.begin(), requests_.end(), [&](const Request& request) {
    return may_leave || !std::holds_alternative<Leave>(request.request);
  });
}

bool MembershipProtocol::has_reason() const {
  // Workers that reached the end of the job first are gone already.
  if (membership_.is_last()) return false;
  // Once stopped, workers continue only with the next membership.
  if (state_ == MembershipState::kStopped) return true;
  if (!holds_requests_ && has_request()) return true;
  return std::any_of(membership_.workers.begin(), membership_.workers.end(),
                     [&](const WorkerRecord& worker) { return is_missing(worker.id); });
}

bool MembershipProtocol::all_have_state() const {
  return std::all_of(membership_.without_state.begin(), membership_.without_state.end(),
                     [&](WorkerId id) { return id == self_.id ? has_state_ : have_state_.contains(id); });
}

bool MembershipProtocol::reaches_state() const {
  if (has_state_) return true;
  return std::any_of(membership_.workers.begin(), membership_.workers.end(), [&](const WorkerRecord& worker) {
    const bool may_have = !membership_.without_state.contains(worker.id) || have_state_.contains(worker.id);
    return may_have && !is_missing(worker.id);
  });
}

// Several workers may lead at once, because each judges by its own missing_ which worker is first. That costs time, not
// safety: the ballots decide.
void MembershipProtocol::lead_if_needed() {
  const bool may = state_ == MembershipState::kActive || state_ == MembershipState::kStopped;
  if (!may || attempt_ || leader() != self_.id || !has_reason()) return;
  begin_attempt();
}

void MembershipProtocol::begin_attempt() {
  const std::uint64_t workers = membership_.workers.size();
  const auto rank = static_cast<std::uint64_t>(membership_.rank_of(self_.id));
  // The ballot modulo the number of workers is the rank, so ballots of different workers differ. It is above every
  // ballot seen in this generation, and one leader proposes at most one membership per ballot.
  const std::uint64_t ballot = (std::max(highest_ballot_, promised_) / workers + 1) * workers + rank;
  highest_ballot_ = ballot;
  attempt_ = Attempt{.ballot = ballot};
  stop();
  promised_ = ballot;
  attempt_->promises[self_.id] = promise(ballot);
  send_to_workers(Collect{membership_.generation, ballot});
  propose_if_possible();
}

// The promise is made after stop(), so progress_ in it is final for this generation: this worker commits no later step
// of it, except by installing the next membership. Atomic steps rest on this order.
Promise MembershipProtocol::promise(std::uint64_t ballot) const {
  return {membership_.generation, ballot, progress_, has_state_, accepted_ballot_, accepted_, requests_};
}

// After this commit_step_if_voted() commits nothing in this generation, even if all votes arrive.
void MembershipProtocol::stop() {
  if (state_ != MembershipState::kActive) return;
  state_ = MembershipState::kStopped;
  events_.push_back(Stopped{membership_.generation});
}

bool MembershipProtocol::is_current(WorkerId from, std::uint64_t generation) {
  if (state_ == MembershipState::kJoining) return false;
  if (generation < membership_.generation) send(from, Commit{membership_});
  if (generation > membership_.generation) send(from, Query{membership_.generation});
  return generation == membership_.generation && membership_.has(from) && state_ != MembershipState::kEnded;
}

// Phase 1, acceptor. promised_ never falls within a generation; install() resets it, because each generation is an
// agreement of its own. An own attempt with a lower ballot is over: this worker could not accept its proposal either.
void MembershipProtocol::on(WorkerId from, const Collect& message) {
  if (!is_current(from, message.generation)) return;
  highest_ballot_ = std::max(highest_ballot_, message.ballot);
  if (message.ballot < promised_) return send(from, Refuse{membership_.generation, promised_});
  if (message.ballot > promised_) attempt_.reset();
  promised_ = message.ballot;
  stop();
  send(from, promise(message.ballot));
}

void MembershipProtocol::on(WorkerId from, const Promise& message) {
  if (!is_current(from, message.generation) || !attempt_ || message.ballot != attempt_->ballot) return;
  attempt_->promises[from] = message;
  for (const Request& request : message.requests) remember(request);
  propose_if_possible();
}

// Phase 2, leader. It waits for every worker that it does not miss, not just for a quorum: a quorum suffices for
// safety, but a live worker without a promise would be left out of the next membership. A proposal is never replaced
// within its ballot.
void MembershipProtocol::propose_if_possible() {
  if (!attempt_ || attempt_->proposal) return;
  std::set<WorkerId> promised;
  for (const auto& [id, promise] : attempt_->promises) promised.insert(id);
  const bool all_here =
      std::all_of(membership_.workers.begin(), membership_.workers.end(),
                  [&](const WorkerRecord& worker) { return promised.contains(worker.id) || is_missing(worker.id); });
  if (!all_here || !is_quorum(promised)) return;
  const std::optional<Membership> membership = next_membership();
  if (!membership) return;
  attempt_->proposal = membership;
  send_to_workers(Propose{membership_.generation, attempt_->ballot, *membership});
  accepted_ = membership;
  accepted_ballot_ = attempt_->ballot;
  attempt_->accepted.insert(self_.id);
  commit_if_decided();
}

void MembershipProtocol::fulfil(const Request& request, Membership& membership) const {
  if (const auto* const set = std::get_if<SetParameter>(&request.request)) {
    if (membership.parameters.size() < Membership::kParametersMax || membership.parameters.contains(set->name)) {
      membership.parameters[set->name] = set->value;
    }
  } else if (const auto* const join = std::get_if<Join>(&request.request)) {
    const WorkerRecord& joining_worker = join->worker;
    if (!is_outdated(request, membership))
      std::erase_if(membership.workers,
                    [&](const WorkerRecord& worker) { return shares_slot(worker, joining_worker); });
    const bool fits = membership.workers.size() < Membership::kWorkersMax && !dead_.contains(joining_worker.id) &&
                      !is_outdated(request, membership);
    if (fits && !membership.has(joining_worker.id)) membership.workers.push_back(joining_worker);
  } else if (membership.workers.size() > 1) {
    std::erase_if(membership.workers, [&](const WorkerRecord& worker) { return worker.id == request.origin; });
  }
  membership.applied[request.origin] = std::max(membership.applied[request.origin], request.number);
}

std::optional<Membership> MembershipProtocol::next_membership() const {
  // If a membership was decided, a quorum accepted it, and the promises of any quorum include one of those acceptances.
  // Every later proposal repeats it, so the acceptance with the highest ballot is the decided membership, or none was
  // decided.
  const Promise* last = nullptr;
  for (const auto& [id, promise] : attempt_->promises) {
    if (promise.accepted && (last == nullptr || promise.accepted_ballot > last->accepted_ballot)) last = &promise;
  }
  if (last != nullptr) return last->accepted;
  // If only leaving workers have the model, they cannot leave yet.
  std::optional<Membership> membership = next_membership(true);
  return membership ? membership : next_membership(false);
}

// Progress is the farthest among the promises. If any promising worker committed step s, all workers voted for s and
// have its results, so every other worker is at s or s − 1 and can commit s in install(). A step that only lost workers
// committed takes effect nowhere else.
std::optional<Membership> MembershipProtocol::next_membership(bool with_leaves) const {
  Membership next = membership_;
  next.generation = membership_.generation + 1;
  std::erase_if(next.workers, [&](const WorkerRecord& worker) {
    return !attempt_->promises.contains(worker.id) || dead_.contains(worker.id);
  });
  for (const auto& [id, promise] : attempt_->promises) {
    if (promise.progress.step > next.progress.step) next.progress = promise.progress;
  }
  std::vector<Request> requests = requests_;
  std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return std::pair(a.origin, a.number) < std::pair(b.origin, b.number);
  });
  for (const Request& request : requests) {
    // A lost worker may have been a step ahead: what it requested after that step must not take effect before it.
    const bool may_be_ahead =
        !std::holds_alternative<Join>(request.request) && !attempt_->promises.contains(request.origin);
    if (may_be_ahead || (!with_leaves && std::holds_alternative<Leave>(request.request))) continue;
    fulfil(request, next);
  }
  std::erase_if(next.applied, [&](const auto& entry) { return !next.has(entry.first); });
  next.without_state.clear();
  for (const WorkerRecord& worker : next.workers) {
    const auto promise = attempt_->promises.find(worker.id);
    if (promise == attempt_->promises.end() || !promise->second.has_state) next.without_state.insert(worker.id);
  }
  // If no worker has the model, the training cannot continue.
  if (next.without_state.size() == next.workers.size()) return std::nullopt;
  return next;
}

// Phase 2, acceptor. Accepting implies the promise, so it stops the worker too. The workers of the proposal had
// promised, and so stopped, before it was first proposed; a worker that is not in it has no progress to preserve.
void MembershipProtocol::on(WorkerId from, const Propose& message) {
  if (!is_current(from, message.generation)) return;
  highest_ballot_ = std::max(highest_ballot_, message.ballot);
  if (message.ballot < promised_) return send(from, Refuse{membership_.generation, promised_});
  if (message.ballot > promised_) attempt_.reset();
  promised_ = accepted_ballot_ = message.ballot;
  accepted_ = message.membership;
  stop();
  send(from, Accept{membership_.generation, message.ballot});
}

void MembershipProtocol::on(WorkerId from, const Accept& message) {
  if (!is_current(from, message.generation) || !attempt_ || message.ballot != attempt_->ballot) return;
  attempt_->accepted.insert(from);
  commit_if_decided();
}

void MembershipProtocol::on(WorkerId from, const Refuse& message) {
  if (!is_current(from, message.generation)) return;
  highest_ballot_ = std::max(highest_ballot_, message.ballot);
  // The next tick tries again, above that ballot.
  if (attempt_ && message.ballot > attempt_->ballot) attempt_.reset();
}

// Only the leader of a ballot counts its acceptances, so only it knows the decision first. If it dies here, before or
// between the Commits, the next leader finds the acceptances among its promises and decides the same membership.
void MembershipProtocol::commit_if_decided() {
  if (!attempt_ || !attempt_->proposal || !is_quorum(attempt_->accepted)) return;
  const Membership membership = *attempt_->proposal;
  std::set<WorkerId> recipients;
  for (const WorkerRecord& worker : membership_.workers) recipients.insert(worker.id);
  for (const WorkerRecord& worker : membership.workers) recipients.insert(worker.id);
  for (const WorkerId id : recipients) send(id, Commit{membership});
  install(membership);
}

void MembershipProtocol::on(WorkerId, const Commit& message) {
  if (state_ == MembershipState::kEnded) return;
  if (state_ == MembershipState::kJoining) {
    // An answer to our question may be a membership from before our join.
    if (message.membership.has(self_.id)) return install(message.membership);
    for (const WorkerRecord& worker : message.membership.workers) {
      const bool is_known = std::find(contacts_.begin(), contacts_.end(), worker.id) != contacts_.end();
      if (!is_known && contacts_.size() < Membership::kWorkersMax) contacts_.push_back(worker.id);
    }
  } else if (message.membership.generation > membership_.generation) {
    install(message.membership);
  }
}

void MembershipProtocol::on(WorkerId from, const Query& message) {
  is_current(from, message.generation);
}

void MembershipProtocol::install(const Membership& membership) {
  const bool was_joining = state_ == MembershipState::kJoining;
  const bool is_next = membership.generation == membership_.generation + 1;
  stop();
  attempt_.reset();
  accepted_.reset();
  promised_ = accepted_ballot_ = highest_ballot_ = 0;
  if (!was_joining && (has_state_ || follows_) && is_next && membership.progress.step == progress_.step + 1 &&
      voted_ == membership.progress.step) {
    // A worker has committed this step in the generation that ends, so all have voted for it, and we have its results.
    // Without our vote in this generation we would have none: then the progress does not match below.
    commit_step();
  }
  if (!has_state_) {
    follows_ = follows_ && progress_ == membership.progress;
    progress_ = membership.progress;
  }
  // A membership whose progress is not ours is one that we took no part in: we stop, no matter which worker sent it.
  const bool continues = progress_ == membership.progress;
  membership_ = membership;
  if (!membership.has(self_.id) || !continues) {
    state_ = MembershipState::kEnded;
    events_.push_back(Ended{wants_to_leave_ && continues});
    return;
  }
  state_ = MembershipState::kActive;
  voted_ = progress_.step;
  votes_.clear();
  have_state_.clear();
  std::erase_if(requests_, [&](const Request& request) {
    const auto applied = membership_.applied.find(request.origin);
    const bool is_applied = applied != membership_.applied.end() && applied->second >= request.number;
    const bool origin_left = !membership_.has(request.origin) && !std::holds_alternative<Join>(request.request);
    return is_applied || origin_left || is_outdated(request, membership_) || is_fulfilled(request, membership_);
  });
  events_.push_back(Installed{membership_, !has_state_, follows_});
  forward_requests();
  lead_if_needed();
}

void MembershipProtocol::state_received() {
  has_state_ = true;
  follows_ = false;
  if (!attempt_) return;
  // The other workers repeat their promises; ours is recorded here only.
  attempt_->promises[self_.id].has_state = true;
  propose_if_possible();
}

void MembershipProtocol::vote() {
  ORRERY_CHECK(may_vote());
  voted_ = progress_.step + 1;
  send_to_workers(Vote{membership_.generation, voted_, has_state_});
  commit_step_if_voted();
}

void MembershipProtocol::on(WorkerId from, const Vote& message) {
  if (!is_current(from, message.generation)) return;
  votes_[from] = std::max(votes_[from], message.step);
  if (message.has_state) have_state_.insert(from);
  commit_step_if_voted();
}

// A step needs the votes of all workers, not of a quorum: a vote says that its sender has the results, and each worker
// must have them before any worker applies them. A missing vote holds the step until the membership changes.
void MembershipProtocol::commit_step_if_voted() {
  if (state_ != MembershipState::kActive || voted_ != progress_.step + 1) return;
  for (const WorkerRecord& worker : membership_.workers) {
    if (worker.id == self_.id) continue;
    const auto vote = votes_.find(worker.id);
    if (vote == votes_.end() || vote->second < voted_) return;
  }
  commit_step();
  lead_if_needed();
}

void MembershipProtocol::commit_step() {
  progress_.step += 1;
  progress_.cursor = advanced(progress_.cursor, batch_of(membership_));
  events_.push_back(StepCommitted{membership_.generation, progress_});
}

void MembershipProtocol::tick() {
  if (state_ == MembershipState::kEnded) return;
  if (state_ == MembershipState::kJoining) return forward_requests();
  forward_requests();
  // Also for a step that is committed here: the vote may have been lost on its way to others.
  if (state_ == MembershipState::kActive && voted_ > membership_.progress.step) {
    send_to_workers(Vote{membership_.generation, voted_, has_state_});
  }
  if (attempt_ && attempt_->proposal) {
    send_to_workers(Propose{membership_.generation, attempt_->ballot, *attempt_->proposal});
  } else if (attempt_) {
    send_to_workers(Collect{membership_.generation, attempt_->ballot});
  } else if (!has_state_ || has_reason()) {
    // The other workers may have continued without us.
    send_to_workers(Query{membership_.generation});
  }
  lead_if_needed();
  // These promises were collected while a worker was missing that is back now.
  propose_if_possible();
}

void MembershipProtocol::receive(const Message& message) {
  if (message.to != self_.id || dead_.contains(message.from)) return;
  std::visit([&](const auto& body) { on(message.from, body); }, message.body);
}

}  // namespace orrery::elastic
