#include "elastic/session.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::elastic {

Session::Session(std::unique_ptr<Endpoint> endpoint, Staged::Probe probe)
    : endpoint_(std::move(endpoint)), probe_(std::move(probe)), early_blocks_(endpoint_->limits().blocks / 2) {}

Result<std::unique_ptr<Session>> Session::open(SlotLease& lease, const SessionOptions& options) {
  ORRERY_TRY(std::unique_ptr<Endpoint> endpoint, Endpoint::open(lease, options.endpoint));
  return std::unique_ptr<Session>(new Session(std::move(endpoint), options.probe));
}

Session::~Session() {
  const bool unfinished = std::any_of(operations_.begin(), operations_.end(), [](const auto& entry) {
    return entry.second->is_started() && !entry.second->has_ended();
  });
  if (unfinished) endpoint_->revoke();
}

Result<Ticket> Session::start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                              bool* agreed) {
  if (revoked()) return revoked_error();
  ORRERY_TRY_VOID(check_request(name, descriptor, buffers, size()));
  if (tickets_ >= kTicketsMax || inline_bytes_ > kInlineBytesMax) {
    return Error::infeasible(
        fmt::format("\"{}\": {} operations with {} bytes of small tensors are unfinished; wait "
                    "for some first",
                    name, tickets_, inline_bytes_));
  }
  ORRERY_TRY(const OperationKey key, next_key(name));
  Operation& operation = find_or_make(key);
  operation.start(descriptor, buffers, endpoint_->place_of(buffers.input, descriptor.bytes()), agreed);
  operation.is_awaited = true;
  operation.started_as = started_++;
  tickets_ += 1;
  inline_bytes_ += operation.inline_held(endpoint_->limits().inline_bytes);
  unannounced_.push_back(&operation);
  if (auto moved = progress(); !moved) {
    endpoint_->revoke();
    return std::move(moved).error();
  }
  return Ticket{key};
}

Operation* Session::find(OperationKey key) const {
  const auto found = operations_.find(key);
  return found == operations_.end() ? nullptr : found->second.get();
}

Operation& Session::find_or_make(OperationKey key) {
  if (Operation* const known = find(key); known != nullptr) return *known;
  Operations::iterator entry;
  if (spare_.empty()) {
    entry = operations_.emplace(key, std::make_unique<Operation>(rank(), size())).first;
  } else {
    spare_.back().key() = key;
    entry = operations_.insert(std::move(spare_.back())).position;
    spare_.pop_back();
  }
  entry->second->reset(key);
  return *entry->second;
}

void Session::queue(Operation& operation) {
  if (operation.is_queued) return;
  operation.is_queued = true;
  queue_.push_back(&operation);
}

void Session::forget_if_over(Operation& operation) {
  if (operation.is_awaited || operation.is_queued || !operation.has_ended() || !operation.all_announced()) return;
  constexpr std::size_t kStandbyMax = 256;
  auto entry = operations_.extract(operation.key());
  if (spare_.size() < kStandbyMax) spare_.push_back(std::move(entry));
}

Status Session::take(int from, const Frame& frame, std::span<const std::byte> payload) {
  if (frame.target != kToAll && frame.target != rank()) return {};
  const OperationKey key = {frame.name, frame.sequence};
  if (frame.kind == FrameKind::kAnnounce) {
    Operation& operation = find_or_make(key);
    ORRERY_TRY_VOID(operation.announced(from, frame, payload, endpoint_->limits().inline_bytes));
    if (operation.has_ended()) {
      forget_if_over(operation);
    } else if (operation.is_started()) {
      queue(operation);
    }
    return {};
  }
  Operation* const operation = find(key);
  if (frame.kind == FrameKind::kDone) {
    // Not every rank waits for every other's "done", so the operation may be over here already.
    if (operation == nullptr || operation->has_ended()) return {};
    operation->done(from);
    queue(*operation);
    return {};
  }
  const Staged::Piece piece = {from, frame.kind, frame.offset, frame.bytes, static_cast<std::uint32_t>(frame.place)};
  if (operation == nullptr || operation->has_ended()) {
    // A piece that was sent before its sender knew that the descriptions differ.
    endpoint_->release(from, piece.block);
    return {};
  }
  operation->arrived(piece, *endpoint_);
  if (operation->is_started()) queue(*operation);
  return {};
}

bool Session::announce_started() {
  bool any = false;
  for (; !unannounced_.empty() && unannounced_.front()->announce(*endpoint_, probe_); unannounced_.pop_front()) {
    any = true;
    queue(*unannounced_.front());
  }
  return any;
}

Result<bool> Session::advance_queued() {
  bool any = false;
  being_done_.swap(queue_);
  // The oldest first: ranks that start their operations in the same order then spend their blocks on the same ones.
  std::sort(being_done_.begin(), being_done_.end(),
            [](const Operation* a, const Operation* b) { return a->started_as < b->started_as; });
  for (Operation* const operation : being_done_) operation->is_queued = false;
  for (std::size_t i = 0; i < being_done_.size(); ++i) {
    Operation& operation = *being_done_[i];
    Result<bool> moved = operation.advance(*endpoint_, early_blocks_, probe_);
    if (!moved) {
      being_done_.clear();
      return std::move(moved).error();
    }
    any = any || *moved;
    if (!operation.has_ended() && (*moved || operation.wants_space())) queue(operation);
  }
  being_done_.clear();
  return any;
}

Result<bool> Session::progress() {
  // First, so that others have it while we read what they have sent.
  const bool announced = announce_started();
  ORRERY_TRY(const int frames,
             endpoint_->receive([this](int from, const Frame& frame, std::span<const std::byte> payload) {
               return take(from, frame, payload);
             }));
  ORRERY_TRY(const bool moved, advance_queued());
  return announced || frames > 0 || moved;
}

Error Session::revoked_error() const {
  for (int rank = 0; rank < size(); ++rank) {
    if (endpoint_->peer(rank) == Peer::kDead) {
      return Error::unavailable(fmt::format("generation {} was revoked: rank {} died", generation(), rank));
    }
  }
  return Error::unavailable(fmt::format("generation {} was revoked", generation()));
}

Status Session::check_peers(const Operation& operation) {
  if (revoked()) return revoked_error();
  for (int rank = 0; rank < size(); ++rank) {
    const Peer peer = rank == this->rank() ? Peer::kHere : endpoint_->peer(rank);
    if (peer == Peer::kHere) continue;
    if (peer == Peer::kLeft) {
      // Everything the rank ever sent has arrived by now, so nothing more can come from it.
      ORRERY_TRY(const bool moved, progress());
      if (moved || operation.has_announced(rank)) continue;
    }
    endpoint_->revoke();
    return Error::unavailable(fmt::format("generation {} was revoked: rank {} {}", generation(), rank,
                                          peer == Peer::kDead ? "died" : "has left"));
  }
  return {};
}

Status Session::drive(Operation& operation, Ticket ticket) {
  std::optional<env::Deadline> since;
  for (std::uint32_t looks = 0; !operation.has_ended();) {
    ORRERY_TRY(const bool moved, progress());
    if (moved) {
      if (revoked() && !operation.has_ended()) return revoked_error();
      looks = 0;
      continue;
    }
    ORRERY_TRY_VOID(check_peers(operation));
    if (is_overdue(since)) return overdue_error(ticket);
    if (endpoint_->would_sleep(looks)) {
      for (const auto& [key, other] : operations_) other->relieve(*endpoint_);
    }
    endpoint_->rest(looks++, !queue_.empty() || !unannounced_.empty(), [this] {
      const auto news = progress();
      return !news || *news || revoked();
    });
  }
  return {};
}

Status Session::wait(Ticket ticket) {
  Operation* const operation = find(ticket.key);
  if (operation == nullptr || !operation->is_awaited) return Error::invalid("the operation was waited for already");
  Status status = drive(*operation, ticket);
  if (!status && !revoked()) endpoint_->revoke();
  tickets_ -= 1;
  inline_bytes_ -= operation->inline_held(endpoint_->limits().inline_bytes);
  operation->is_awaited = false;
  if (status) status = operation->outcome(name_of(ticket.key));
  forget_if_over(*operation);
  return status;
}

Result<bool> Session::poll(Ticket ticket) {
  const Operation* const operation = find(ticket.key);
  if (operation == nullptr || !operation->is_awaited) return Error::invalid("the operation was waited for already");
  if (operation->has_ended()) return true;
  auto moved = progress();
  if (!moved) {
    endpoint_->revoke();
    return std::move(moved).error();
  }
  if (!operation->has_ended()) ORRERY_TRY_VOID(check_peers(*operation));
  return operation->has_ended();
}

std::vector<int> Session::missing(Ticket ticket) const {
  std::vector<int> ranks;
  const Operation* const operation = find(ticket.key);
  if (operation == nullptr) return ranks;
  for (int rank = 0; rank < size(); ++rank) {
    if (!operation->has_announced(rank)) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace orrery::elastic
