#include "elastic/member/member.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::elastic {

namespace {

bool shares_seat(const MemberRecord& one, const MemberRecord& other) {
  return one.host == other.host && one.slot == other.slot && one.id != other.id;
}

// A seat has one owner at a time: who has the higher id came later and found it free. So whoever wants to join and had
// it before is dead.
bool is_outdated(const Request& request, const View& view) {
  const auto* const join = std::get_if<Join>(&request.wish);
  return join != nullptr && std::any_of(view.members.begin(), view.members.end(), [&](const MemberRecord& member) {
           return shares_seat(member, join->member) && member.id > join->member.id;
         });
}

// Several members may wish the same; one view fulfils all of it.
bool is_fulfilled(const Request& request, const View& view) {
  const auto* const set = std::get_if<SetParameter>(&request.wish);
  if (set == nullptr) return false;
  const auto now = view.parameters.find(set->name);
  return now != view.parameters.end() && now->second == set->value;
}

}  // namespace

Member::Member(MemberId self, const View& first)
    : state_(MemberState::kActive), view_(first), progress_(first.progress), has_state_(true) {
  const int rank = first.rank_of(self);
  ORRERY_CHECK(rank >= 0);
  self_ = first.members[static_cast<std::size_t>(rank)];
  voted_ = progress_.step;
}

Member::Member(const MemberRecord& self, std::vector<MemberId> contacts)
    : self_(self), contacts_(std::move(contacts)), state_(MemberState::kJoining) {
  wish(Join{self});
}

void Member::set_contacts(std::vector<MemberId> contacts) {
  if (state_ != MemberState::kJoining) return;
  contacts_ = std::move(contacts);
  forward_requests();
}

void Member::send(MemberId to, MessageBody body) {
  if (to != self_.id) messages_.push_back({self_.id, to, std::move(body)});
}

void Member::send_to_members(const MessageBody& body) {
  for (const MemberRecord& member : view_.members) send(member.id, body);
}

void Member::wish(std::variant<Join, Leave, SetParameter> what) {
  if (std::holds_alternative<Leave>(what)) wants_to_leave_ = true;
  remember({self_.id, ++wishes_, std::move(what)});
  forward_requests();
  lead_if_needed();
}

void Member::remember(const Request& request) {
  if (dead_.contains(request.origin) || is_outdated(request, view_) || is_fulfilled(request, view_)) return;
  const auto applied = view_.applied.find(request.origin);
  if (applied != view_.applied.end() && applied->second >= request.number) return;
  const auto known = std::find_if(requests_.begin(), requests_.end(), [&](const Request& other) {
    return other.origin == request.origin && other.number == request.number;
  });
  if (known == requests_.end() && requests_.size() < kRequestsMax) requests_.push_back(request);
}

void Member::forward_requests() {
  if (state_ == MemberState::kJoining) {
    for (const MemberId contact : contacts_) send(contact, Ask{requests_.front()});
    return;
  }
  const MemberId to = leader();
  if (to == self_.id) return;
  for (const Request& request : requests_) send(to, Ask{request});
}

void Member::on(MemberId from, const Ask& message) {
  if (state_ == MemberState::kJoining) return;
  const auto applied = view_.applied.find(message.request.origin);
  if (applied != view_.applied.end() && applied->second >= message.request.number) {
    // Fulfilled; whoever asks has not heard.
    send(from, Commit{view_});
    return;
  }
  // Whoever wants to join learns whom else to ask: those it knows may be gone before it is in.
  if (message.request.origin == from && std::holds_alternative<Join>(message.request.wish)) send(from, Commit{view_});
  remember(message.request);
  if (leader() != self_.id) send(leader(), message);
  lead_if_needed();
}

bool Member::is_missing(MemberId id) const {
  if (dead_.contains(id)) return true;
  return view_.rule() == QuorumRule::kMajority && missing_.contains(id);
}

MemberId Member::leader() const {
  for (const MemberRecord& member : view_.members) {
    if (!is_missing(member.id)) return member.id;
  }
  return self_.id;
}

bool Member::is_quorum(const std::set<MemberId>& ids) const {
  if (view_.rule() == QuorumRule::kSurvivors) {
    return std::all_of(view_.members.begin(), view_.members.end(), [&](const MemberRecord& member) {
      return ids.contains(member.id) || dead_.contains(member.id);
    });
  }
  const std::size_t all = view_.members.size();
  const auto with = static_cast<std::size_t>(std::count_if(
      view_.members.begin(), view_.members.end(), [&](const MemberRecord& member) { return ids.contains(member.id); }));
  return 2 * with > all || (2 * with == all && ids.contains(view_.members[0].id));
}

bool Member::reaches_quorum() const {
  std::set<MemberId> here;
  for (const MemberRecord& member : view_.members) {
    if (!is_missing(member.id)) here.insert(member.id);
  }
  return is_quorum(here);
}

void Member::miss(MemberId id, bool certain) {
  if (certain) dead_.insert(id);
  missing_.insert(id);
  if (certain) std::erase_if(requests_, [&](const Request& request) { return request.origin == id; });
  if (attempt_) {
    propose_if_possible();
    commit_if_decided();
  }
  lead_if_needed();
}

void Member::end_epoch() {
  stop();
  lead_if_needed();
}

void Member::find_again(MemberId id) {
  missing_.erase(id);
}

void Member::hold_requests() {
  holds_requests_ = true;
}

void Member::release_requests() {
  holds_requests_ = false;
  lead_if_needed();
}

bool Member::has_request() const {
  // Nobody leaves before those who joined have the model.
  const bool may_leave = all_have_state();
  return std::any_of(requests_.begin(), requests_.end(),
                     [&](const Request& request) { return may_leave || !std::holds_alternative<Leave>(request.wish); });
}

bool Member::has_reason() const {
  // Those who came to its end first are gone already.
  if (view_.is_last()) return false;
  // Once stopped, only the next view lets anyone go on.
  if (state_ == MemberState::kStopped) return true;
  if (!holds_requests_ && has_request()) return true;
  return std::any_of(view_.members.begin(), view_.members.end(),
                     [&](const MemberRecord& member) { return is_missing(member.id); });
}

bool Member::all_have_state() const {
  return std::all_of(view_.without_state.begin(), view_.without_state.end(),
                     [&](MemberId id) { return id == self_.id ? has_state_ : have_state_.contains(id); });
}

bool Member::reaches_state() const {
  if (has_state_) return true;
  return std::any_of(view_.members.begin(), view_.members.end(), [&](const MemberRecord& member) {
    const bool may_have = !view_.without_state.contains(member.id) || have_state_.contains(member.id);
    return may_have && !is_missing(member.id);
  });
}

void Member::lead_if_needed() {
  const bool may = state_ == MemberState::kActive || state_ == MemberState::kStopped;
  if (!may || attempt_ || leader() != self_.id || !has_reason()) return;
  begin_attempt();
}

void Member::begin_attempt() {
  const std::uint64_t members = view_.members.size();
  const auto rank = static_cast<std::uint64_t>(view_.rank_of(self_.id));
  // Ballots of different members differ.
  const std::uint64_t ballot = (std::max(highest_ballot_, promised_) / members + 1) * members + rank;
  highest_ballot_ = ballot;
  attempt_ = Attempt{.ballot = ballot};
  stop();
  promised_ = ballot;
  attempt_->promises[self_.id] = promise(ballot);
  send_to_members(Collect{view_.epoch, ballot});
  propose_if_possible();
}

Promise Member::promise(std::uint64_t ballot) const {
  return {view_.epoch, ballot, progress_, has_state_, accepted_ballot_, accepted_, requests_};
}

void Member::stop() {
  if (state_ != MemberState::kActive) return;
  state_ = MemberState::kStopped;
  events_.push_back(Stopped{view_.epoch});
}

bool Member::is_current(MemberId from, std::uint64_t epoch) {
  if (state_ == MemberState::kJoining) return false;
  if (epoch < view_.epoch) send(from, Commit{view_});
  if (epoch > view_.epoch) send(from, Query{view_.epoch});
  return epoch == view_.epoch && view_.has(from) && state_ != MemberState::kEnded;
}

void Member::on(MemberId from, const Collect& message) {
  if (!is_current(from, message.epoch)) return;
  highest_ballot_ = std::max(highest_ballot_, message.ballot);
  if (message.ballot < promised_) return send(from, Refuse{view_.epoch, promised_});
  if (message.ballot > promised_) attempt_.reset();
  promised_ = message.ballot;
  stop();
  send(from, promise(message.ballot));
}

void Member::on(MemberId from, const Promise& message) {
  if (!is_current(from, message.epoch) || !attempt_ || message.ballot != attempt_->ballot) return;
  attempt_->promises[from] = message;
  for (const Request& request : message.requests) remember(request);
  propose_if_possible();
}

void Member::propose_if_possible() {
  if (!attempt_ || attempt_->proposal) return;
  std::set<MemberId> promised;
  for (const auto& [id, promise] : attempt_->promises) promised.insert(id);
  const bool all_here = std::all_of(view_.members.begin(), view_.members.end(), [&](const MemberRecord& member) {
    return promised.contains(member.id) || is_missing(member.id);
  });
  if (!all_here || !is_quorum(promised)) return;
  const std::optional<View> view = next_view();
  if (!view) return;
  attempt_->proposal = view;
  send_to_members(Propose{view_.epoch, attempt_->ballot, *view});
  accepted_ = view;
  accepted_ballot_ = attempt_->ballot;
  attempt_->accepted.insert(self_.id);
  commit_if_decided();
}

void Member::fulfil(const Request& request, View& view) const {
  if (const auto* const set = std::get_if<SetParameter>(&request.wish)) {
    if (view.parameters.size() < View::kParametersMax || view.parameters.contains(set->name)) {
      view.parameters[set->name] = set->value;
    }
  } else if (const auto* const join = std::get_if<Join>(&request.wish)) {
    const MemberRecord& joiner = join->member;
    if (!is_outdated(request, view))
      std::erase_if(view.members, [&](const MemberRecord& member) { return shares_seat(member, joiner); });
    const bool fits =
        view.members.size() < View::kMembersMax && !dead_.contains(joiner.id) && !is_outdated(request, view);
    if (fits && !view.has(joiner.id)) view.members.push_back(joiner);
  } else if (view.members.size() > 1) {
    std::erase_if(view.members, [&](const MemberRecord& member) { return member.id == request.origin; });
  }
  view.applied[request.origin] = std::max(view.applied[request.origin], request.number);
}

std::optional<View> Member::next_view() const {
  // What may have been decided must stay decided.
  const Promise* last = nullptr;
  for (const auto& [id, promise] : attempt_->promises) {
    if (promise.accepted && (last == nullptr || promise.accepted_ballot > last->accepted_ballot)) last = &promise;
  }
  if (last != nullptr) return last->accepted;
  // Whoever has the model alone cannot leave yet.
  std::optional<View> view = next_view(true);
  return view ? view : next_view(false);
}

std::optional<View> Member::next_view(bool with_leaves) const {
  View next = view_;
  next.epoch = view_.epoch + 1;
  std::erase_if(next.members, [&](const MemberRecord& member) {
    return !attempt_->promises.contains(member.id) || dead_.contains(member.id);
  });
  for (const auto& [id, promise] : attempt_->promises) {
    if (promise.progress.step > next.progress.step) next.progress = promise.progress;
  }
  std::vector<Request> requests = requests_;
  std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return std::pair(a.origin, a.number) < std::pair(b.origin, b.number);
  });
  for (const Request& request : requests) {
    // Whoever is lost may have been a step ahead: what it decided after that step must not come before it.
    const bool may_be_ahead =
        !std::holds_alternative<Join>(request.wish) && !attempt_->promises.contains(request.origin);
    if (may_be_ahead || (!with_leaves && std::holds_alternative<Leave>(request.wish))) continue;
    fulfil(request, next);
  }
  std::erase_if(next.applied, [&](const auto& entry) { return !next.has(entry.first); });
  next.without_state.clear();
  for (const MemberRecord& member : next.members) {
    const auto promise = attempt_->promises.find(member.id);
    if (promise == attempt_->promises.end() || !promise->second.has_state) next.without_state.insert(member.id);
  }
  // Without anyone who has the model there is nothing to go on with.
  if (next.without_state.size() == next.members.size()) return std::nullopt;
  return next;
}

void Member::on(MemberId from, const Propose& message) {
  if (!is_current(from, message.epoch)) return;
  highest_ballot_ = std::max(highest_ballot_, message.ballot);
  if (message.ballot < promised_) return send(from, Refuse{view_.epoch, promised_});
  if (message.ballot > promised_) attempt_.reset();
  promised_ = accepted_ballot_ = message.ballot;
  accepted_ = message.view;
  stop();
  send(from, Accept{view_.epoch, message.ballot});
}

void Member::on(MemberId from, const Accept& message) {
  if (!is_current(from, message.epoch) || !attempt_ || message.ballot != attempt_->ballot) return;
  attempt_->accepted.insert(from);
  commit_if_decided();
}

void Member::on(MemberId from, const Refuse& message) {
  if (!is_current(from, message.epoch)) return;
  highest_ballot_ = std::max(highest_ballot_, message.ballot);
  // The next tick tries again, above that ballot.
  if (attempt_ && message.ballot > attempt_->ballot) attempt_.reset();
}

void Member::commit_if_decided() {
  if (!attempt_ || !attempt_->proposal || !is_quorum(attempt_->accepted)) return;
  const View view = *attempt_->proposal;
  std::set<MemberId> everyone;
  for (const MemberRecord& member : view_.members) everyone.insert(member.id);
  for (const MemberRecord& member : view.members) everyone.insert(member.id);
  for (const MemberId id : everyone) send(id, Commit{view});
  install(view);
}

void Member::on(MemberId, const Commit& message) {
  if (state_ == MemberState::kEnded) return;
  if (state_ == MemberState::kJoining) {
    // An answer to our question may be a view from before us.
    if (message.view.has(self_.id)) return install(message.view);
    for (const MemberRecord& member : message.view.members) {
      const bool is_known = std::find(contacts_.begin(), contacts_.end(), member.id) != contacts_.end();
      if (!is_known && contacts_.size() < View::kMembersMax) contacts_.push_back(member.id);
    }
  } else if (message.view.epoch > view_.epoch) {
    install(message.view);
  }
}

void Member::on(MemberId from, const Query& message) {
  is_current(from, message.epoch);
}

void Member::install(const View& view) {
  const bool was_joining = state_ == MemberState::kJoining;
  const bool is_next = view.epoch == view_.epoch + 1;
  stop();
  attempt_.reset();
  accepted_.reset();
  promised_ = accepted_ballot_ = highest_ballot_ = 0;
  if (!was_joining && (has_state_ || follows_) && is_next && view.progress.step == progress_.step + 1 &&
      voted_ == view.progress.step) {
    // Someone has committed it in the epoch that ends, so all have voted for it, and we have its results.
    commit_step();
  }
  if (!has_state_) {
    follows_ = follows_ && progress_ == view.progress;
    progress_ = view.progress;
  }
  // A view that does not continue where we are cannot be one that we took part in: we stop, whoever sent it.
  const bool continues = progress_ == view.progress;
  view_ = view;
  if (!view.has(self_.id) || !continues) {
    state_ = MemberState::kEnded;
    events_.push_back(Ended{wants_to_leave_ && continues});
    return;
  }
  state_ = MemberState::kActive;
  voted_ = progress_.step;
  votes_.clear();
  have_state_.clear();
  std::erase_if(requests_, [&](const Request& request) {
    const auto applied = view_.applied.find(request.origin);
    const bool is_applied = applied != view_.applied.end() && applied->second >= request.number;
    const bool from_nobody = !view_.has(request.origin) && !std::holds_alternative<Join>(request.wish);
    return is_applied || from_nobody || is_outdated(request, view_) || is_fulfilled(request, view_);
  });
  events_.push_back(Installed{view_, !has_state_, follows_});
  forward_requests();
  lead_if_needed();
}

void Member::state_received() {
  has_state_ = true;
  follows_ = false;
  if (!attempt_) return;
  // Others repeat their promises; ours is noted here only.
  attempt_->promises[self_.id].has_state = true;
  propose_if_possible();
}

void Member::vote() {
  ORRERY_CHECK(may_vote());
  voted_ = progress_.step + 1;
  send_to_members(Vote{view_.epoch, voted_, has_state_});
  commit_step_if_voted();
}

void Member::on(MemberId from, const Vote& message) {
  if (!is_current(from, message.epoch)) return;
  votes_[from] = std::max(votes_[from], message.step);
  if (message.has_state) have_state_.insert(from);
  commit_step_if_voted();
}

void Member::commit_step_if_voted() {
  if (state_ != MemberState::kActive || voted_ != progress_.step + 1) return;
  for (const MemberRecord& member : view_.members) {
    if (member.id == self_.id) continue;
    const auto vote = votes_.find(member.id);
    if (vote == votes_.end() || vote->second < voted_) return;
  }
  commit_step();
  lead_if_needed();
}

void Member::commit_step() {
  progress_.step += 1;
  progress_.cursor = advanced(progress_.cursor, batch_of(view_));
  events_.push_back(StepCommitted{view_.epoch, progress_});
}

void Member::tick() {
  if (state_ == MemberState::kEnded) return;
  if (state_ == MemberState::kJoining) return forward_requests();
  forward_requests();
  // Also for a step that is committed here: the vote may have been lost for others.
  if (state_ == MemberState::kActive && voted_ > view_.progress.step) {
    send_to_members(Vote{view_.epoch, voted_, has_state_});
  }
  if (attempt_ && attempt_->proposal) {
    send_to_members(Propose{view_.epoch, attempt_->ballot, *attempt_->proposal});
  } else if (attempt_) {
    send_to_members(Collect{view_.epoch, attempt_->ballot});
  } else if (!has_state_ || has_reason()) {
    // The others may have gone on without us.
    send_to_members(Query{view_.epoch});
  }
  lead_if_needed();
  // Promises that were collected while someone was missing who is back now.
  propose_if_possible();
}

void Member::receive(const Message& message) {
  if (message.to != self_.id || dead_.contains(message.from)) return;
  std::visit([&](const auto& body) { on(message.from, body); }, message.body);
}

}  // namespace orrery::elastic
