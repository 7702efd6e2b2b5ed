#include "elastic/worker.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::elastic {

namespace {

constexpr Seconds kBetweenReports{0.1};
constexpr Seconds kBetweenAsks{0.1};
constexpr Seconds kNoLimit{3600};  // a worker that does not come is found dead, or lost
// How long a launcher may be stopped or busy before a process that is not yet a worker takes it for gone.
constexpr Seconds kLauncherSilenceMax{2};
// A network that slows a training down deserves a more precise measurement than one at its start.
constexpr Seconds kRemeasuringMax{1};
// How long a process that has reached its end stays for others that have not.
constexpr Seconds kPartingMax{5};

MembershipProtocol make_protocol(const WorkerOptions& options) {
  if (options.first) return MembershipProtocol(options.self.id, *options.first);
  return MembershipProtocol(options.self, options.contacts);
}

}  // namespace

Worker::Worker(env::Env env, WorkerOptions options, std::unique_ptr<SlotLease> lease,
               std::unique_ptr<Messenger> messenger, MembershipProtocol protocol)
    : env_(env),
      options_(std::move(options)),
      self_(options_.self),
      lease_(std::move(lease)),
      arena_(*lease_),
      messenger_(std::move(messenger)),
      protocol_(std::move(protocol)),
      all_came_(!options_.first),
      random_(Random(options_.seed).split(self_.id)) {
  protocol_.hold_requests();
}

Worker::~Worker() {
  part();
  // The launcher decides by the last report of the membership whether the job ended well; its mailbox may be full for a
  // moment.
  constexpr int kTries = 20;
  for (int i = 0; i < kTries && options_.has_launcher && membership().generation > 0; ++i) {
    report();
    if (last_report_sent_) return;
    env_.clock.sleep(Seconds(0.001));
  }
}

Result<std::unique_ptr<Worker>> Worker::start(env::Env env, WorkerOptions options) {
  if (options.first && !options.first->has(options.self.id)) {
    return Error::invalid("an initial worker that is not in the first membership");
  }
  ORRERY_TRY(auto lease, SlotLease::take(options.segment, static_cast<int>(options.self.slot), options.self.id));
  ORRERY_TRY(auto messenger, Messenger::open(env, {options.job, options.self, options.credentials}));
  for (const WorkerRecord& record : options.records) messenger->learn(record);
  if (options.first) messenger->watch(*options.first);
  MembershipProtocol protocol = make_protocol(options);
  std::unique_ptr<Worker> worker(
      new Worker(env, std::move(options), std::move(lease), std::move(messenger), std::move(protocol)));
  if (worker->options_.first) {
    const Status opened = worker->open_session();
    if (!opened && opened.error().code() != ErrorCode::kUnavailable) return opened.error();
  }
  if (worker->options_.has_launcher && !worker->options_.first) ORRERY_TRY_VOID(worker->wait_until_asked());
  ORRERY_TRY(const StepOutcome outcome, worker->change_membership(0));
  // A job that stops at this step includes this process: the first finish_step() returns so.
  const bool is_worker = outcome != StepOutcome::kEnded || worker->has_ended();
  if (!is_worker) return Error::unavailable("the job has ended without this process");
  return worker;
}

DataRange Worker::own_samples(std::span<const std::uint64_t> weights) const {
  std::vector<std::uint64_t> shares(membership().workers.size(), 1);
  if (!weights.empty()) shares.assign(weights.begin(), weights.end());
  for (std::size_t i = 0; transfer_ && i < shares.size(); ++i) {
    if (!transfer_->has_model(static_cast<int>(i))) shares[i] = 0;
  }
  return split_batch(next_batch(progress().cursor, batch_of(membership())), shares)[static_cast<std::size_t>(rank())];
}

Result<bool> Worker::vote() {
  const std::uint64_t step = progress().step + 1;
  const bool is_requested =
      std::any_of(parameter_requests_.begin(), parameter_requests_.end(),
                  [&](const ParameterRequest& request) { return request.after_step <= step && is_wanting(request); });
  // Others may know of requests that the leader has fulfilled or refused.
  std::int32_t wants_change = protocol_.leads() && (is_requested || protocol_.has_request()) ? 1 : 0;
  const Seconds begin = now();
  protocol_.vote();
  ORRERY_TRY(const Ticket ticket, session_->all_reduce("commit", {&wants_change, 1, DataType::kI32}, ReduceOp::kMax));
  ORRERY_TRY_VOID(session_->wait(ticket));
  vote_s_.add((now() - begin).value());
  // All workers have reached this point, and every worker votes before it does.
  for (const WorkerRecord& worker : membership().workers) {
    const bool has_state = !transfer_ || transfer_->has_model(membership().rank_of(worker.id));
    protocol_.receive({worker.id, self_.id, Vote{membership().generation, step, has_state}});
  }
  return wants_change != 0;
}

Result<StepOutcome> Worker::finish_step(const Status& operations) {
  if (options_.must_leave && options_.must_leave()) leave();
  // The membership may be over already, if this process knew that a worker is missing and had a request.
  ORRERY_TRY_VOID(handle_events());
  const std::uint64_t generation = membership().generation;
  const Status ready = operations && membership_is_open_ ? transfer_piece() : operations;
  if (!ready && ready.error().code() != ErrorCode::kUnavailable) return ready.error();
  bool changes = !ready || !membership_is_open_;
  if (!changes) {
    const Result<bool> wants_change = vote();
    if (!wants_change && wants_change.error().code() != ErrorCode::kUnavailable) return wants_change.error();
    changes = !wants_change || *wants_change;
    submit_requests();
    // All workers stop, so the membership changes even if the request was withdrawn meanwhile.
    if (wants_change && *wants_change) protocol_.end_generation();
  }
  ORRERY_TRY_VOID(pump(Seconds(0)));
  report_now_and_then();
  if (has_ended()) return StepOutcome::kEnded;
  if (changes || !membership_is_open_ || session_->revoked()) return change_membership(generation);
  return StepOutcome::kCommitted;
}

// By its own request, or with all others; a worker that the others left behind continues.
bool Worker::has_ended() const {
  if (protocol_.state() == MembershipState::kActive && membership().is_last()) return true;
  if (protocol_.state() != MembershipState::kActive || !membership_is_open_) return false;
  return membership().stops() || (is_leaving_ && membership().workers.size() == 1);
}

void Worker::leave() {
  if (is_leaving_) return;
  is_leaving_ = true;
  protocol_.leave();
  report();
}

void Worker::stop() {
  if (is_stopping_) return;
  is_stopping_ = true;
  if (!membership().parameters.contains(kStopParameter)) protocol_.set_parameter(kStopParameter, 1);
}

void Worker::set_parameter(std::string name, double value) {
  parameter_requests_.push_back({std::move(name), value, progress().step + 1});
}

bool Worker::is_wanting(const ParameterRequest& request) const {
  const auto now = membership().parameters.find(request.name);
  return now == membership().parameters.end() || now->second != request.value;
}

bool Worker::submit_requests() {
  bool any = false;
  for (const ParameterRequest& request : std::exchange(parameter_requests_, {})) {
    if (progress().step < request.after_step) {
      parameter_requests_.push_back(request);
    } else if (is_wanting(request)) {
      protocol_.set_parameter(request.name, request.value);
      any = true;
    }
  }
  return any;
}

Status Worker::set_parameter_at_once(std::string name, double value) {
  // Workers in an operation receive no messages, but they see that the generation is over.
  revoke(*options_.segment, membership().generation);
  if (session_ != nullptr) session_->revoke();
  protocol_.set_parameter(std::move(name), value);
  return pump(Seconds(0));
}

void Worker::limit(std::optional<Seconds> longest) {
  longest_ = longest;
  if (session_ != nullptr) session_->limit(longest);
}

bool Worker::request_size(std::uint64_t size) {
  return options_.has_launcher &&
         send_note(kLauncherName, AskLauncher{.request = LauncherRequest::kResize, .size = size});
}

bool Worker::send_note(WorkerId to, const Note& note) {
  return messenger_->send(to, encode(note));
}

void Worker::report() {
  if (!options_.has_launcher || membership().generation == 0) return;
  Report report{.worker = self_.id,
                .generation = membership().generation,
                .step = progress().step,
                .epoch = progress().cursor.epoch,
                .pause_s = commit_generation_ == membership().generation ? pause_s_ : 0,
                .is_leaving = is_leaving_,
                .has_committed = commit_generation_ == membership().generation,
                .is_fixed = options_.is_fixed,
                .step_s = step_s_.value().value_or(0),
                .vote_s = vote_s_.value().value_or(0)};
  for (const WorkerRecord& worker : membership().workers) report.workers.push_back(worker.id);
  last_report_sent_ = send_note(kLauncherName, report);
  next_report_ = now() + kBetweenReports;
}

void Worker::report_now_and_then() {
  if (options_.has_launcher && now() > next_report_) report();
}

void Worker::handle(const Note& note) {
  if (const auto* const join = std::get_if<JoinNow>(&note)) {
    is_asked_ = true;
    std::vector<WorkerId> contacts;
    for (const WorkerRecord& worker : join->contacts) {
      messenger_->learn(worker);
      contacts.push_back(worker.id);
    }
    protocol_.set_contacts(std::move(contacts));
  } else if (std::holds_alternative<LeaveNow>(note)) {
    leave();
  } else if (std::holds_alternative<StopNow>(note)) {
    stop();
  } else if (const auto* const died = std::get_if<Died>(&note)) {
    if (died->worker != self_.id) protocol_.miss(died->worker, true);
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
  for (const WorkerRecord& worker : membership().workers) {
    if (worker.id == self_.id) continue;
    if (messenger_->is_here(worker)) {
      notice_death_here(worker);
    } else {
      notice_loss(worker);
    }
  }
}

void Worker::notice_death_here(const WorkerRecord& worker) {
  const int slot = static_cast<int>(worker.slot);
  const bool came = options_.segment->control(slot).owner.load(std::memory_order_seq_cst) == worker.id;
  // A slot lease that another process has now, or that its owner has left, has no living owner of that id.
  const bool was_here = came || !options_.first || membership().generation > options_.first->generation;
  if (was_here && (!came || life_of(*options_.segment, slot) != Life::kAlive)) protocol_.miss(worker.id, true);
}

void Worker::notice_loss(const WorkerRecord& worker) {
  // Initial workers may not have started yet; once there was a session, all have.
  const bool was_there = all_came_ || messenger_->was_reached(worker.id);
  if (!was_there) return;
  if (messenger_->is_lost(worker.id)) {
    protocol_.miss(worker.id, false);
  } else {
    protocol_.find_again(worker.id);
  }
}

void Worker::tick_now_and_then() {
  if (now() <= next_tick_) return;
  protocol_.tick();
  next_tick_ = now() + Seconds(random_.uniform(0.005, 0.02));
}

Status Worker::check_partition() {
  const bool is_worker = protocol_.state() != MembershipState::kJoining;
  if (is_worker && !protocol_.reaches_state() && !messenger_->spans_hosts()) {
    return Error::unavailable(
        fmt::format("job \"{}\": all workers that had the model died before this process received it", options_.job));
  }
  if (!messenger_->spans_hosts() || !is_worker || (protocol_.reaches_quorum() && protocol_.reaches_state())) {
    quorum_seen_ = now();
    return {};
  }
  if (now() < quorum_seen_ + options_.partition_timeout) return {};
  return Error::unavailable(fmt::format("job \"{}\": cut off from the majority of {} workers for {}", options_.job,
                                        membership().workers.size(), format_seconds(options_.partition_timeout)));
}

void Worker::part() {
  if (!messenger_->spans_hosts() || session_ == nullptr || protocol_.state() != MembershipState::kActive) return;
  const Seconds end = now() + kPartingMax;
  const auto ticket = session_->barrier("orrery: end");
  for (auto ended = ticket ? session_->poll(*ticket) : Result<bool>(ticket.error()); ended && now() < end;
       ended = session_->poll(*ticket)) {
    if (*ended) return;
    env_.clock.sleep(Seconds(0.0005));
  }
  // A worker died, or continues without us.
  session_->revoke();
  session_.reset();
  protocol_.leave();
  protocol_.release_requests();
  while (protocol_.state() != MembershipState::kEnded && now() < end && membership().workers.size() > 1) {
    notice_deaths();
    if (!pump(Seconds(0.001))) return;
    tick_now_and_then();
  }
}

Status Worker::handle(const Event& event) {
  if (const auto* const step = std::get_if<StepCommitted>(&event)) {
    options_.commit(*step);
    const Seconds time = now();
    const bool is_first = step->generation != commit_generation_;
    pause_s_ = !is_first ? pause_s_ : commit_generation_ == 0 ? 0 : (time - last_commit_).value();
    if (!is_first) step_s_.add((time - last_commit_).value());
    commit_generation_ = step->generation;
    last_commit_ = time;
    if (is_first) next_report_ = Seconds(0);
    return {};
  }
  if (const auto* const stopped = std::get_if<Stopped>(&event)) {
    // Workers that still wait in this generation learn it now.
    revoke(*options_.segment, stopped->generation);
    if (session_ != nullptr && messenger_->spans_hosts()) session_->revoke();
    session_.reset();
    membership_is_open_ = false;
    return {};
  }
  if (const auto* const installed = std::get_if<Installed>(&event)) {
    messenger_->watch(installed->membership);
    protocol_.hold_requests();
    if (!installed->follows) position_ = 0;
    if (installed->needs_state && options_.lanes > 0) protocol_.follow();
  }
  membership_is_open_ = false;
  return {};
}

Status Worker::handle_events() {
  for (const Event& event : protocol_.take_events()) ORRERY_TRY_VOID(handle(event));
  return {};
}

Status Worker::pump(Seconds timeout) {
  for (bool waits = true;; waits = false) {
    ORRERY_TRY_VOID(handle_events());
    for (const Message& message : protocol_.take_messages()) {
      // The barrier of a step carries the votes.
      if (!std::holds_alternative<Vote>(message.body)) messenger_->send(message);
    }
    ORRERY_TRY(const std::optional<std::string> bytes, messenger_->receive(waits ? timeout : Seconds(0)));
    if (!bytes) return {};
    // Anything that is not a message of ours is ignored; asking again costs its sender nothing.
    if (is_note(*bytes)) {
      if (const auto note = decode_note(*bytes)) handle(*note);
    } else if (const auto message = decode_message(*bytes)) {
      protocol_.receive(*message);
    }
  }
}

Status Worker::wait_for_others(std::uint64_t generation) {
  notice_deaths();
  ORRERY_TRY_VOID(pump(Seconds(0)));
  tick_now_and_then();
  ORRERY_TRY_VOID(check_partition());
  if (membership().generation != generation || protocol_.state() != MembershipState::kActive)
    return Error::unavailable("the membership is over");
  return {};
}

Result<std::unique_ptr<Session>> Worker::open_here() {
  SessionOptions options;
  options.probe = options_.probe;
  options.endpoint.generation = membership().generation;
  options.endpoint.open_max = kNoLimit;
  options.endpoint.meanwhile = [this, generation = membership().generation] { return wait_for_others(generation); };
  for (const WorkerRecord& worker : membership().workers) {
    if (messenger_->is_here(worker)) options.endpoint.workers.push_back(static_cast<int>(worker.slot));
  }
  return Session::open(*lease_, options);
}

Result<std::unique_ptr<net::Session>> Worker::open_between(const std::vector<int>& ranks) {
  net::SessionOptions options;
  options.mesh.generation = membership().generation;
  options.mesh.open_max = kNoLimit;
  options.mesh.meanwhile = [this, generation = membership().generation] { return wait_for_others(generation); };
  options.mesh.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank()) - ranks.begin());
  options.mesh.ranks_here =
      static_cast<int>(std::count_if(membership().workers.begin(), membership().workers.end(),
                                     [this](const WorkerRecord& worker) { return messenger_->is_here(worker); }));
  for (const int rank : ranks) {
    ORRERY_TRY(env::Address address, env::parse_address(membership().workers[static_cast<std::size_t>(rank)].address));
    options.mesh.addresses.push_back(std::move(address));
  }
  return net::Session::open(messenger_->listener(), options);
}

Result<std::unique_ptr<Collectives>> Worker::open_two_levels(const net::HostLayout& layout) {
  const std::uint64_t generation = membership().generation;
  ORRERY_TRY(std::unique_ptr<Session> here, open_here());
  std::unique_ptr<net::Session> between;
  if (layout.leads(rank())) {
    std::vector<int> leaders;
    for (const std::vector<int>& ranks : layout.hosts) leaders.push_back(ranks.front());
    ORRERY_TRY(between, open_between(leaders));
  }
  ORRERY_TRY(std::unique_ptr<Collectives> session,
             net::TwoLevel::make(std::move(here), std::move(between), layout, rank()));
  // Until now, workers that are not the leader of their host know only the workers on it.
  ORRERY_TRY(const Ticket all_came, session->barrier("orrery: open"));
  for (;;) {
    ORRERY_TRY(const bool ended, session->poll(all_came));
    if (ended) break;
    ORRERY_TRY_VOID(wait_for_others(generation));
    env_.clock.sleep(microseconds(50));
  }
  ORRERY_TRY_VOID(session->wait(all_came));
  return session;
}

Result<std::unique_ptr<Collectives>> Worker::open_collectives() {
  std::vector<std::uint32_t> hosts;
  std::vector<int> ranks;
  for (const WorkerRecord& worker : membership().workers) {
    ranks.push_back(static_cast<int>(ranks.size()));
    hosts.push_back(worker.host);
  }
  const net::HostLayout layout = net::HostLayout::from(hosts);
  if (!messenger_->spans_hosts() || layout.hosts.size() == 1) {
    ORRERY_TRY(std::unique_ptr<Collectives> session, open_here());
    return session;
  }
  if (layout.is_worth_it()) return open_two_levels(layout);
  ORRERY_TRY(std::unique_ptr<Collectives> session, open_between(ranks));
  return session;
}

Status Worker::open_session() {
  const std::uint64_t generation = membership().generation;
  auto opened = open_collectives();
  if (!opened) {
    // Connections of a generation are made once.
    if (messenger_->spans_hosts()) revoke(*options_.segment, generation);
    return std::move(opened).error();
  }
  session_ = std::move(*opened);
  session_->limit(longest_);
  all_came_ = true;
  messenger_->forget_losses();
  if (membership().parameters.contains(kTopologyParameter)) ORRERY_TRY_VOID(session_->measure(kRemeasuringMax));
  return transfer_model();
}

Status Worker::transfer_model() {
  transfer_.reset();
  if (!membership().without_state.empty()) {
    std::vector<bool> has_model;
    for (const WorkerRecord& worker : membership().workers)
      has_model.push_back(!membership().without_state.contains(worker.id));
    ORRERY_TRY(transfer_,
               ModelTransfer::begin(*session_, options_.state(), options_.lanes, std::move(has_model), position_));
    last_piece_ = now();
    if (options_.lanes == 0) ORRERY_TRY_VOID(transfer_->move_all(*session_));
    if (transfer_->is_complete()) model_transferred();
  }
  membership_is_open_ = true;
  report();
  return {};
}

Status Worker::transfer_piece() {
  if (!transfer_) return {};
  const Seconds begin = now();
  const Status moved = transfer_->move_piece(env_.clock, *session_, begin - last_piece_);
  if (is_learner()) position_ = transfer_->position();
  // A process that cannot be a worker must not delay the others.
  if (!moved && moved.error().code() != ErrorCode::kUnavailable) session_->revoke();
  ORRERY_TRY_VOID(moved);
  last_piece_ = now();
  if (transfer_->is_complete()) model_transferred();
  return {};
}

void Worker::model_transferred() {
  protocol_.state_received();
  transfer_.reset();
}

Result<StepOutcome> Worker::change_membership(std::uint64_t generation) {
  quorum_seen_ = now();
  const Seconds begin = now();
  protocol_.release_requests();
  for (;;) {
    if (longest_ && now() > begin + *longest_) {
      return Error::io(fmt::format("job \"{}\": its workers have not agreed on a new membership within {}",
                                   options_.job, format_seconds(*longest_)));
    }
    if (session_ != nullptr && session_->revoked()) {
      if (protocol_.state() == MembershipState::kActive) revoke(*options_.segment, session_->generation());
      session_.reset();
      membership_is_open_ = false;
    }
    notice_deaths();
    // The current step may have been committed with the membership.
    if (submit_requests()) protocol_.release_requests();
    ORRERY_TRY_VOID(pump(Seconds(0)));
    if (protocol_.state() == MembershipState::kEnded) return ended();
    ORRERY_TRY_VOID(check_partition());
    if (has_ended()) return StepOutcome::kEnded;
    if (protocol_.state() == MembershipState::kActive && membership_is_open_ && membership().generation > generation) {
      // Also those of initial workers, for which the first membership was no change.
      protocol_.hold_requests();
      return StepOutcome::kChanged;
    }
    if (protocol_.state() == MembershipState::kJoining) ORRERY_TRY_VOID(look_for_contacts());
    if (protocol_.state() == MembershipState::kActive && is_revoked(*options_.segment, membership().generation)) {
      protocol_.end_generation();
      continue;
    }
    if (protocol_.state() == MembershipState::kActive && !membership_is_open_) {
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
  if (!messenger_->spans_hosts() || is_leaving_) return StepOutcome::kEnded;
  return Error::unavailable(fmt::format(
      "job \"{}\": the other workers could not reach this process and have gone on without it, in generation {}",
      options_.job, membership().generation));
}

}  // namespace orrery::elastic
