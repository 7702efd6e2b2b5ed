#include "elastic/worker.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/real_clock.h"

namespace orrery::elastic {

namespace {

constexpr Seconds kBetweenReports{0.1};
constexpr Seconds kBetweenAsks{0.1};
constexpr Seconds kNoLimit{3600};  // whoever does not come is found dead, or lost
// So long a launcher may be stopped or busy before a process that is no member yet takes it for gone.
constexpr Seconds kLauncherSilenceMax{2};
// A network that slows a training down is worth a closer look than one at its start.
constexpr Seconds kRemeasuringMax{1};
// So long a process that has come to its end stays for others who have not.
constexpr Seconds kPartingMax{5};

Seconds now() {
  return env::RealClock().monotonic();
}

Member make_member(const WorkerOptions& options) {
  if (options.first) return Member(options.self.id, *options.first);
  return Member(options.self, options.contacts);
}

}  // namespace

Worker::Worker(WorkerOptions options, std::unique_ptr<Seat> seat, std::unique_ptr<Post> post, Member member)
    : options_(std::move(options)),
      self_(options_.self),
      seat_(std::move(seat)),
      arena_(*seat_),
      post_(std::move(post)),
      member_(std::move(member)),
      all_came_(!options_.first),
      random_(Random(options_.seed).split(self_.id)) {
  member_.hold_requests();
}

Worker::~Worker() {
  part();
  // The last word on the view decides for the launcher whether the job ended well; its box may be full for a moment.
  constexpr int kTries = 20;
  for (int i = 0; i < kTries && options_.has_launcher && view().epoch > 0; ++i) {
    report();
    if (last_report_sent_) return;
    env::RealClock().sleep(Seconds(0.001));
  }
}

Result<std::unique_ptr<Worker>> Worker::start(WorkerOptions options) {
  if (options.first && !options.first->has(options.self.id)) {
    return Error::invalid("a founder that is not in the first view");
  }
  ORRERY_TRY(auto seat, Seat::take(options.segment, static_cast<int>(options.self.slot), options.self.id));
  ORRERY_TRY(auto post, Post::open({options.job, options.self, options.secret}));
  for (const MemberRecord& record : options.records) post->learn(record);
  if (options.first) post->watch(*options.first);
  Member member = make_member(options);
  std::unique_ptr<Worker> worker(new Worker(std::move(options), std::move(seat), std::move(post), std::move(member)));
  if (worker->options_.first) {
    const Status opened = worker->open_session();
    if (!opened && opened.error().code() != ErrorCode::kUnavailable) return opened.error();
  }
  if (worker->options_.has_launcher && !worker->options_.first) ORRERY_TRY_VOID(worker->wait_until_asked());
  ORRERY_TRY(const StepOutcome outcome, worker->change_view(0));
  // A job that stops at this step has this process in it: the first finish_step() says so.
  const bool is_member = outcome != StepOutcome::kEnded || worker->has_ended();
  if (!is_member) return Error::unavailable("the job has ended without this process");
  return worker;
}

DataRange Worker::own_samples(std::span<const std::uint64_t> weights) const {
  std::vector<std::uint64_t> shares(view().members.size(), 1);
  if (!weights.empty()) shares.assign(weights.begin(), weights.end());
  for (std::size_t i = 0; transfer_ && i < shares.size(); ++i) {
    if (!transfer_->has_model(static_cast<int>(i))) shares[i] = 0;
  }
  return split_batch(next_batch(progress().cursor, batch_of(view())), shares)[static_cast<std::size_t>(rank())];
}

Result<bool> Worker::vote() {
  const std::uint64_t step = progress().step + 1;
  const bool is_wished = std::any_of(wishes_.begin(), wishes_.end(), [&](const ParameterWish& wish) {
    return wish.after_step <= step && is_wanting(wish);
  });
  // Others may know of requests that the leader has fulfilled or refused.
  std::int32_t wants_change = member_.leads() && (is_wished || member_.has_request()) ? 1 : 0;
  const Seconds begin = now();
  member_.vote();
  ORRERY_TRY(const Ticket ticket, session_->all_reduce("commit", {&wants_change, 1, DataType::kI32}, ReduceOp::kMax));
  ORRERY_TRY_VOID(session_->wait(ticket));
  vote_s_.add((now() - begin).value());
  // Everyone has come here, and everyone votes before it comes here.
  for (const MemberRecord& member : view().members) {
    const bool has_state = !transfer_ || transfer_->has_model(view().rank_of(member.id));
    member_.receive({member.id, self_.id, Vote{view().epoch, step, has_state}});
  }
  return wants_change != 0;
}

Result<StepOutcome> Worker::finish_step(const Status& operations) {
  if (options_.must_leave && options_.must_leave()) leave();
  // The view may be over already: if this process knew that someone is missing, and had something to say.
  ORRERY_TRY_VOID(handle_events());
  const std::uint64_t epoch = view().epoch;
  const Status ready = operations && view_is_open_ ? transfer_piece() : operations;
  if (!ready && ready.error().code() != ErrorCode::kUnavailable) return ready.error();
  bool changes = !ready || !view_is_open_;
  if (!changes) {
    const Result<bool> wants_change = vote();
    if (!wants_change && wants_change.error().code() != ErrorCode::kUnavailable) return wants_change.error();
    changes = !wants_change || *wants_change;
    submit_wishes();
    // Everyone stops, so the view changes even if the request was withdrawn meanwhile.
    if (wants_change && *wants_change) member_.end_epoch();
  }
  ORRERY_TRY_VOID(pump(Seconds(0)));
  report_now_and_then();
  if (has_ended()) return StepOutcome::kEnded;
  if (changes || !view_is_open_ || session_->revoked()) return change_view(epoch);
  return StepOutcome::kCommitted;
}

// Of its own will, or with all others; a member that others left behind goes on.
bool Worker::has_ended() const {
  if (member_.state() == MemberState::kActive && view().is_last()) return true;
  if (member_.state() != MemberState::kActive || !view_is_open_) return false;
  return view().stops() || (is_leaving_ && view().members.size() == 1);
}

void Worker::leave() {
  if (is_leaving_) return;
  is_leaving_ = true;
  member_.leave();
  report();
}

void Worker::stop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  if (!view().parameters.contains(kStopParameter)) member_.set_parameter(kStopParameter, 1);
}

void Worker::set_parameter(std::string name, double value) {
  wishes_.push_back({std::move(name), value, progress().step + 1});
}

bool Worker::is_wanting(const ParameterWish& wish) const {
  const auto now = view().parameters.find(wish.name);
  return now == view().parameters.end() || now->second != wish.value;
}

bool Worker::submit_wishes() {
  bool any = false;
  for (const ParameterWish& wish : std::exchange(wishes_, {})) {
    if (progress().step < wish.after_step) {
      wishes_.push_back(wish);
    } else if (is_wanting(wish)) {
      member_.set_parameter(wish.name, wish.value);
      any = true;
    }
  }
  return any;
}

Status Worker::set_parameter_at_once(std::string name, double value) {
  // Members in an operation hear no messages; that the epoch is over, they see.
  revoke(*options_.segment, view().epoch);
  if (session_ != nullptr) session_->revoke();
  member_.set_parameter(std::move(name), value);
  return pump(Seconds(0));
}

void Worker::limit(std::optional<Seconds> longest) {
  longest_ = longest;
  if (session_ != nullptr) session_->limit(longest);
}

bool Worker::request_size(std::uint64_t size) {
  return options_.has_launcher && send_note(kLauncherName, AskLauncher{.wish = Wish::kResize, .size = size});
}

bool Worker::send_note(MemberId to, const Note& note) {
  return post_->send(to, encode(note));
}

void Worker::report() {
  if (!options_.has_launcher || view().epoch == 0) return;
  Report report{.member = self_.id,
                .epoch = view().epoch,
                .step = progress().step,
                .pass = progress().cursor.pass,
                .pause_s = commit_epoch_ == view().epoch ? pause_s_ : 0,
                .is_leaving = is_leaving_,
                .has_committed = commit_epoch_ == view().epoch,
                .is_fixed = options_.is_fixed,
                .step_s = step_s_.value().value_or(0),
                .vote_s = vote_s_.value().value_or(0)};
  for (const MemberRecord& member : view().members) report.members.push_back(member.id);
  last_report_sent_ = send_note(kLauncherName, report);
  next_report_ = now() + kBetweenReports;
}

void Worker::report_now_and_then() {
  if (options_.has_launcher && now() > next_report_) report();
}

void Worker::handle(const Note& note) {
  if (const auto* const join = std::get_if<JoinNow>(&note)) {
    is_asked_ = true;
    std::vector<MemberId> contacts;
    for (const MemberRecord& member : join->contacts) {
      post_->learn(member);
      contacts.push_back(member.id);
    }
    member_.set_contacts(std::move(contacts));
  } else if (std::holds_alternative<LeaveNow>(note)) {
    leave();
  } else if (std::holds_alternative<StopNow>(note)) {
    stop();
  } else if (const auto* const died = std::get_if<Died>(&note)) {
    if (died->member != self_.id) member_.miss(died->member, true);
  }
}

Status Worker::wait_until_asked() {
  launcher_heard_ = now();
  while (!is_asked_) {
    if (options_.must_leave && options_.must_leave()) return Error::unavailable("asked to end before it was needed");
    if (send_note(kLauncherName, Ready{self_.id})) launcher_heard_ = now();
    if (now() > launcher_heard_ + kLauncherSilenceMax) {
      return Error::unavailable(
          fmt::format("the launcher of job \"{}\" is gone; this process was not needed yet", options_.job));
    }
    ORRERY_TRY_VOID(pump(kBetweenAsks));
  }
  return {};
}

Status Worker::look_for_contacts() {
  if (!options_.has_launcher || now() < next_report_) return {};
  next_report_ = now() + kBetweenAsks;
  if (send_note(kLauncherName, Ready{self_.id})) launcher_heard_ = now();
  if (now() <= launcher_heard_ + kLauncherSilenceMax) return {};
  return Error::unavailable(
      fmt::format("job \"{}\" has lost its launcher before this process had joined", options_.job));
}

void Worker::notice_deaths() {
  for (const MemberRecord& member : view().members) {
    if (member.id == self_.id) continue;
    if (post_->is_here(member)) {
      notice_death_here(member);
    } else {
      notice_loss(member);
    }
  }
}

void Worker::notice_death_here(const MemberRecord& member) {
  const int slot = static_cast<int>(member.slot);
  const bool came = options_.segment->control(slot).owner.load(std::memory_order_seq_cst) == member.id;
  // A seat that someone else has now, or that its owner has left, has no living owner of that name.
  const bool was_here = came || !options_.first || view().epoch > options_.first->epoch;
  if (was_here && (!came || life_of(*options_.segment, slot) != Life::kAlive)) member_.miss(member.id, true);
}

void Worker::notice_loss(const MemberRecord& member) {
  // Founders may not have come yet; once a session stood, all have.
  const bool was_there = all_came_ || post_->was_reached(member.id);
  if (!was_there) return;
  if (post_->is_lost(member.id)) {
    member_.miss(member.id, false);
  } else {
    member_.find_again(member.id);
  }
}

void Worker::tick_now_and_then() {
  if (now() <= next_tick_) return;
  member_.tick();
  next_tick_ = now() + Seconds(random_.uniform(0.005, 0.02));
}

Status Worker::check_fence() {
  const bool is_member = member_.state() != MemberState::kJoining;
  if (is_member && !member_.reaches_state() && !post_->spans_hosts()) {
    return Error::unavailable(
        fmt::format("job \"{}\": all who had the model died before this process had it", options_.job));
  }
  if (!post_->spans_hosts() || !is_member || (member_.reaches_quorum() && member_.reaches_state())) {
    quorum_seen_ = now();
    return {};
  }
  if (now() < quorum_seen_ + options_.fence_max) return {};
  return Error::unavailable(fmt::format("job \"{}\": cut off from the majority of {} members for {}", options_.job,
                                        view().members.size(), format_seconds(options_.fence_max)));
}

void Worker::part() {
  if (!post_->spans_hosts() || session_ == nullptr || member_.state() != MemberState::kActive) return;
  const Seconds end = now() + kPartingMax;
  const auto ticket = session_->barrier("orrery: end");
  for (auto ended = ticket ? session_->poll(*ticket) : Result<bool>(ticket.error()); ended && now() < end;
       ended = session_->poll(*ticket)) {
    if (*ended) return;
    env::RealClock().sleep(Seconds(0.0005));
  }
  // Someone died, or goes on without us.
  session_->revoke();
  session_.reset();
  member_.leave();
  member_.release_requests();
  while (member_.state() != MemberState::kEnded && now() < end && view().members.size() > 1) {
    notice_deaths();
    if (!pump(Seconds(0.001))) return;
    tick_now_and_then();
  }
}

Status Worker::handle(const Event& event) {
  if (const auto* const step = std::get_if<StepCommitted>(&event)) {
    options_.commit(*step);
    const Seconds time = now();
    const bool is_first = step->epoch != commit_epoch_;
    pause_s_ = !is_first ? pause_s_ : commit_epoch_ == 0 ? 0 : (time - last_commit_).value();
    if (!is_first) step_s_.add((time - last_commit_).value());
    commit_epoch_ = step->epoch;
    last_commit_ = time;
    if (is_first) next_report_ = Seconds(0);
    return {};
  }
  if (const auto* const stopped = std::get_if<Stopped>(&event)) {
    // Whoever still waits in this epoch learns it now.
    revoke(*options_.segment, stopped->epoch);
    if (session_ != nullptr && post_->spans_hosts()) session_->revoke();
    session_.reset();
    view_is_open_ = false;
    return {};
  }
  if (const auto* const installed = std::get_if<Installed>(&event)) {
    post_->watch(installed->view);
    member_.hold_requests();
    if (!installed->follows) position_ = 0;
    if (installed->needs_state && options_.lanes > 0) member_.follow();
  }
  view_is_open_ = false;
  return {};
}

Status Worker::handle_events() {
  for (const Event& event : member_.take_events()) ORRERY_TRY_VOID(handle(event));
  return {};
}

Status Worker::pump(Seconds timeout) {
  for (bool waits = true;; waits = false) {
    ORRERY_TRY_VOID(handle_events());
    for (const Message& message : member_.take_messages()) {
      // The barrier of a step carries the votes.
      if (!std::holds_alternative<Vote>(message.body)) post_->send(message);
    }
    ORRERY_TRY(const std::optional<std::string> bytes, post_->receive(waits ? timeout : Seconds(0)));
    if (!bytes) return {};
    // What is not a message of ours has no business here; asking again costs its sender nothing.
    if (is_note(*bytes)) {
      if (const auto note = decode_note(*bytes)) handle(*note);
    } else if (const auto message = decode_message(*bytes)) {
      member_.receive(*message);
    }
  }
}

Status Worker::wait_for_others(std::uint64_t epoch) {
  notice_deaths();
  ORRERY_TRY_VOID(pump(Seconds(0)));
  tick_now_and_then();
  ORRERY_TRY_VOID(check_fence());
  if (view().epoch != epoch || member_.state() != MemberState::kActive) return Error::unavailable("the view is over");
  return {};
}

Result<std::unique_ptr<Session>> Worker::open_here() {
  SessionOptions options;
  options.probe = options_.probe;
  options.port.epoch = view().epoch;
  options.port.open_max = kNoLimit;
  options.port.meanwhile = [this, epoch = view().epoch] { return wait_for_others(epoch); };
  for (const MemberRecord& member : view().members) {
    if (post_->is_here(member)) options.port.members.push_back(static_cast<int>(member.slot));
  }
  return Session::open(*seat_, options);
}

Result<std::unique_ptr<net::Session>> Worker::open_between(const std::vector<int>& ranks) {
  net::SessionOptions options;
  options.mesh.epoch = view().epoch;
  options.mesh.open_max = kNoLimit;
  options.mesh.meanwhile = [this, epoch = view().epoch] { return wait_for_others(epoch); };
  options.mesh.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
  options.mesh.ranks_here =
      static_cast<int>(std::count_if(view().members.begin(), view().members.end(),
                                     [this](const MemberRecord& member) { return post_->is_here(member); }));
  for (const int rank : ranks) {
    ORRERY_TRY(env::Address address, net::parse_address(view().members[static_cast<std::size_t>(rank)].address));
    options.mesh.addresses.push_back(std::move(address));
  }
  return net::Session::open(post_->door(), options);
}

Result<std::unique_ptr<Collectives>> Worker::open_two_levels(const net::HostLayout& layout) {
  const std::uint64_t epoch = view().epoch;
  ORRERY_TRY(std::unique_ptr<Session> here, open_here());
  std::unique_ptr<net::Session> between;
  if (layout.leads(rank())) {
    std::vector<int> leaders;
    for (const std::vector<int>& ranks : layout.hosts) leaders.push_back(ranks.front());
    ORRERY_TRY(between, open_between(leaders));
  }
  ORRERY_TRY(std::unique_ptr<Collectives> session,
             net::TwoLevel::make(std::move(here), std::move(between), layout, rank()));
  // So far, those who lead no host know of the others there only.
  ORRERY_TRY(const Ticket all_came, session->barrier("orrery: open"));
  for (;;) {
    ORRERY_TRY(const bool ended, session->poll(all_came));
    if (ended) break;
    ORRERY_TRY_VOID(wait_for_others(epoch));
    env::RealClock().sleep(microseconds(50));
  }
  ORRERY_TRY_VOID(session->wait(all_came));
  return session;
}

Result<std::unique_ptr<Collectives>> Worker::open_collectives() {
  std::vector<std::uint32_t> hosts;
  std::vector<int> ranks;
  for (const MemberRecord& member : view().members) {
    ranks.push_back(static_cast<int>(ranks.size()));
    hosts.push_back(member.host);
  }
  const net::HostLayout layout = net::HostLayout::from(hosts);
  if (!post_->spans_hosts() || layout.hosts.size() == 1) {
    ORRERY_TRY(std::unique_ptr<Collectives> session, open_here());
    return session;
  }
  if (layout.is_worth_it()) return open_two_levels(layout);
  ORRERY_TRY(std::unique_ptr<Collectives> session, open_between(ranks));
  return session;
}

Status Worker::open_session() {
  const std::uint64_t epoch = view().epoch;
  auto opened = open_collectives();
  if (!opened) {
    // Connections of an epoch are made once.
    if (post_->spans_hosts()) revoke(*options_.segment, epoch);
    return std::move(opened).error();
  }
  session_ = std::move(*opened);
  session_->limit(longest_);
  all_came_ = true;
  post_->forget_losses();
  if (view().parameters.contains(kTopologyParameter)) ORRERY_TRY_VOID(session_->measure(kRemeasuringMax));
  return transfer_model();
}

Status Worker::transfer_model() {
  transfer_.reset();
  if (!view().without_state.empty()) {
    std::vector<bool> has_model;
    for (const MemberRecord& member : view().members) has_model.push_back(!view().without_state.contains(member.id));
    ORRERY_TRY(transfer_,
               ModelTransfer::begin(*session_, options_.state(), options_.lanes, std::move(has_model), position_));
    last_piece_ = now();
    if (options_.lanes == 0) ORRERY_TRY_VOID(transfer_->move_all(*session_));
    if (transfer_->is_complete()) model_transferred();
  }
  view_is_open_ = true;
  report();
  return {};
}

Status Worker::transfer_piece() {
  if (!transfer_) return {};
  const Seconds begin = now();
  const Status moved = transfer_->move_piece(*session_, begin - last_piece_);
  if (is_shadow()) position_ = transfer_->position();
  // Who cannot be a member must not hold up the others.
  if (!moved && moved.error().code() != ErrorCode::kUnavailable) session_->revoke();
  ORRERY_TRY_VOID(moved);
  last_piece_ = now();
  if (transfer_->is_complete()) model_transferred();
  return {};
}

void Worker::model_transferred() {
  member_.state_received();
  transfer_.reset();
}

Result<StepOutcome> Worker::change_view(std::uint64_t epoch) {
  quorum_seen_ = now();
  const Seconds begin = now();
  member_.release_requests();
  for (;;) {
    if (longest_ && now() > begin + *longest_) {
      return Error::io(fmt::format("job \"{}\": its members have not agreed on who is left within {}", options_.job,
                                   format_seconds(*longest_)));
    }
    if (session_ != nullptr && session_->revoked()) {
      if (member_.state() == MemberState::kActive) revoke(*options_.segment, session_->epoch());
      session_.reset();
      view_is_open_ = false;
    }
    notice_deaths();
    // The step that was at hand may have been committed with the view.
    if (submit_wishes()) member_.release_requests();
    ORRERY_TRY_VOID(pump(Seconds(0)));
    if (member_.state() == MemberState::kEnded) return ended();
    ORRERY_TRY_VOID(check_fence());
    if (has_ended()) return StepOutcome::kEnded;
    if (member_.state() == MemberState::kActive && view_is_open_ && view().epoch > epoch) {
      // Also those of founders, whose first view nobody had to change to.
      member_.hold_requests();
      return StepOutcome::kChanged;
    }
    if (member_.state() == MemberState::kJoining) ORRERY_TRY_VOID(look_for_contacts());
    if (member_.state() == MemberState::kActive && is_revoked(*options_.segment, view().epoch)) {
      member_.end_epoch();
      continue;
    }
    if (member_.state() == MemberState::kActive && !view_is_open_) {
      session_.reset();
      const Status opened = open_session();
      if (!opened && opened.error().code() != ErrorCode::kUnavailable) return opened.error();
      continue;
    }
    tick_now_and_then();
    ORRERY_TRY_VOID(pump(Seconds(0.001)));
  }
}

Result<StepOutcome> Worker::ended() const {
  if (!post_->spans_hosts() || is_leaving_) return StepOutcome::kEnded;
  return Error::unavailable(
      fmt::format("job \"{}\": the other members could not reach this process and have gone on without it, in epoch {}",
                  options_.job, view().epoch));
}

}  // namespace orrery::elastic
