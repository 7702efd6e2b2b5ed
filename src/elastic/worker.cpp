#include "elastic/worker.h"

#include <algorithm>

#include "env/real_clock.h"

namespace orrery::elastic {

namespace {

Seconds now() {
  return env::RealClock().monotonic();
}

Member make_member(const WorkerOptions& options) {
  if (options.first) return Member(options.self.id, *options.first);
  return Member(options.self, options.contacts);
}

}  // namespace

Worker::Worker(WorkerOptions options, std::unique_ptr<Seat> seat, Postbox postbox, Member member)
    : options_(std::move(options)),
      self_(options_.self),
      seat_(std::move(seat)),
      arena_(*seat_),
      postbox_(std::move(postbox)),
      member_(std::move(member)),
      random_(Random(options_.seed).split(self_.id)) {}

Worker::~Worker() = default;

Result<std::unique_ptr<Worker>> Worker::start(WorkerOptions options) {
  if (options.first && !options.first->has(options.self.id)) {
    return Error::invalid("a founder that is not in the first view");
  }
  ORRERY_TRY(auto seat, Seat::take(options.segment, static_cast<int>(options.self.slot), options.self.id));
  ORRERY_TRY(Postbox postbox, Postbox::open(options.job, options.self.id));
  Member member = make_member(options);
  std::unique_ptr<Worker> worker(
      new Worker(std::move(options), std::move(seat), std::move(postbox), std::move(member)));
  if (worker->options_.first) {
    const Status opened = worker->open_session();
    if (!opened && opened.error().code() != ErrorCode::kUnavailable) return opened.error();
  }
  ORRERY_TRY(const StepOutcome outcome, worker->change_view());
  if (outcome == StepOutcome::kEnded) return Error::unavailable("the job has ended without this process");
  return worker;
}

DataRange Worker::own_samples() const {
  const std::vector<std::uint64_t> shares(view().members.size(), 1);
  return split_batch(next_batch(progress().cursor, batch_of(view())), shares)[static_cast<std::size_t>(rank())];
}

Result<StepOutcome> Worker::finish_step(const Status& operations) {
  if (!operations && operations.error().code() != ErrorCode::kUnavailable) return operations.error();
  if (operations) {
    const std::uint64_t step = progress().step + 1;
    member_.vote();
    const auto ticket = session_->barrier("commit");
    const Status voted = ticket ? session_->wait(*ticket) : Status(ticket.error());
    if (!voted && voted.error().code() != ErrorCode::kUnavailable) return voted.error();
    if (voted) {
      // Everyone has come to the barrier, and everyone votes before it comes there.
      for (const MemberRecord& member : view().members) {
        member_.receive({member.id, self_.id, Vote{view().epoch, step}});
      }
    }
  }
  ORRERY_TRY_VOID(pump(Seconds(0)));
  if (!operations || !view_is_open_ || session_->revoked()) return change_view();
  return StepOutcome::kCommitted;
}

void Worker::notice_deaths() {
  for (const MemberRecord& member : view().members) {
    if (member.id == self_.id) continue;
    const int slot = static_cast<int>(member.slot);
    const bool came = options_.segment->control(slot).owner.load(std::memory_order_seq_cst) == member.id;
    // A seat that someone else has now, or that its owner has left, has no living owner of that name.
    const bool was_here = came || !options_.first || view().epoch > options_.first->epoch;
    if (was_here && (!came || life_of(*options_.segment, slot) != Life::kAlive)) member_.miss(member.id, true);
  }
}

Status Worker::handle(const Event& event) {
  if (const auto* const step = std::get_if<StepCommitted>(&event)) {
    options_.commit(*step);
    return {};
  }
  if (const auto* const stopped = std::get_if<Stopped>(&event)) {
    // Whoever still waits in this epoch learns it now.
    revoke(*options_.segment, stopped->epoch);
    session_.reset();
    view_is_open_ = false;
    return {};
  }
  view_is_open_ = false;
  return {};
}

Status Worker::pump(Seconds timeout) {
  for (bool waits = true;; waits = false) {
    for (const Event& event : member_.take_events()) ORRERY_TRY_VOID(handle(event));
    for (const Message& message : member_.take_messages()) {
      // The barrier of a step carries the votes.
      if (!std::holds_alternative<Vote>(message.body)) postbox_.send(message.to, encode(message));
    }
    ORRERY_TRY(const std::optional<std::string> bytes, postbox_.receive(waits ? timeout : Seconds(0)));
    if (!bytes) return {};
    // What is not a message of ours has no business here; asking again costs its sender nothing.
    if (const auto message = decode_message(*bytes)) member_.receive(*message);
  }
}

Status Worker::open_session() {
  SessionOptions options;
  options.port.epoch = view().epoch;
  options.port.open_max = Seconds(3600);
  for (const MemberRecord& member : view().members) options.port.members.push_back(static_cast<int>(member.slot));
  const std::uint64_t epoch = view().epoch;
  options.port.meanwhile = [this, epoch]() -> Status {
    notice_deaths();
    ORRERY_TRY_VOID(pump(Seconds(0)));
    if (now() > next_tick_) {
      member_.tick();
      next_tick_ = now() + Seconds(random_.uniform(0.005, 0.02));
    }
    if (view().epoch != epoch || member_.state() != MemberState::kActive) return Error::unavailable("the view is over");
    return {};
  };
  options.probe = options_.probe;
  ORRERY_TRY(session_, Session::open(*seat_, options));
  return transfer_state();
}

Status Worker::transfer_state() {
  if (!view().without_state.empty()) {
    int root = 0;
    while (view().without_state.contains(view().members[static_cast<std::size_t>(root)].id)) ++root;
    const std::span<std::byte> state = options_.state();
    ORRERY_TRY(const Ticket ticket, session_->broadcast("state", {state.data(), state.size(), DataType::kI8}, root));
    ORRERY_TRY_VOID(session_->wait(ticket));
    member_.state_received();
  }
  view_is_open_ = true;
  return {};
}

Result<StepOutcome> Worker::change_view() {
  for (;;) {
    if (session_ != nullptr && session_->revoked()) {
      session_.reset();
      view_is_open_ = false;
    }
    notice_deaths();
    ORRERY_TRY_VOID(pump(Seconds(0)));
    if (member_.state() == MemberState::kEnded) return StepOutcome::kEnded;
    if (member_.state() == MemberState::kActive && view_is_open_) return StepOutcome::kChanged;
    if (member_.state() == MemberState::kActive && is_revoked(*options_.segment, view().epoch)) {
      member_.end_epoch();
      continue;
    }
    if (member_.state() == MemberState::kActive) {
      session_.reset();
      const Status opened = open_session();
      if (!opened && opened.error().code() != ErrorCode::kUnavailable) return opened.error();
      continue;
    }
    if (now() > next_tick_) {
      member_.tick();
      next_tick_ = now() + Seconds(random_.uniform(0.005, 0.02));
    }
    ORRERY_TRY_VOID(pump(Seconds(0.001)));
  }
}

}  // namespace orrery::elastic
