#include "elastic/net/two_level.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <thread>

#include "base/check.h"

namespace orrery::elastic::net {

HostLayout HostLayout::from(const std::vector<std::uint32_t>& host_by_rank) {
  HostLayout layout;
  std::map<std::uint32_t, int> seen;
  for (std::size_t rank = 0; rank < host_by_rank.size(); ++rank) {
    const auto [host, is_new] = seen.try_emplace(host_by_rank[rank], static_cast<int>(layout.hosts.size()));
    if (is_new) layout.hosts.emplace_back();
    layout.hosts[static_cast<std::size_t>(host->second)].push_back(static_cast<int>(rank));
    layout.host_of.push_back(host->second);
  }
  return layout;
}

int HostLayout::local_rank(int rank) const {
  const std::vector<int>& here = hosts[static_cast<std::size_t>(host_of[static_cast<std::size_t>(rank)])];
  return static_cast<int>(std::find(here.begin(), here.end(), rank) - here.begin());
}

bool HostLayout::is_worth_it() const {
  return hosts.size() > 1 && hosts.size() < host_of.size();
}

Result<std::unique_ptr<TwoLevel>> TwoLevel::make(std::unique_ptr<elastic::Session> local,
                                                 std::unique_ptr<Session> between, HostLayout layout, int rank) {
  if (rank < 0 || rank >= static_cast<int>(layout.host_of.size())) return Error::invalid("a rank that is nowhere");
  const int host = layout.host_of[static_cast<std::size_t>(rank)];
  const auto hosts = static_cast<int>(layout.hosts.size());
  if (local->rank() != layout.local_rank(rank) ||
      local->size() != static_cast<int>(layout.hosts[static_cast<std::size_t>(host)].size())) {
    return Error::invalid(fmt::format("rank {} is {} of {} on its host", rank, local->rank(), local->size()));
  }
  if ((between != nullptr) != layout.leads(rank))
    return Error::invalid("the first rank of a host leads, and no other rank");
  if (between != nullptr && (between->rank() != host || between->size() != hosts)) {
    return Error::invalid(
        fmt::format("the leader of host {} of {} is rank {} of {}", host, hosts, between->rank(), between->size()));
  }
  return std::unique_ptr<TwoLevel>(new TwoLevel(std::move(local), std::move(between), std::move(layout), rank));
}

TwoLevel::Operation TwoLevel::describe(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                                       bool* agreed) const {
  Operation operation{.name = std::string(name), .collective = descriptor.collective, .op = descriptor.op};
  operation.tensor = {buffers.output, static_cast<std::size_t>(descriptor.count), descriptor.type};
  switch (descriptor.collective) {
    case Collective::kAllReduce:
    case Collective::kBarrier:
      break;
    case Collective::kBroadcast:
      operation.root_host = layout_.host_of[descriptor.root];
      operation.root_local = layout_.local_rank(descriptor.root);
      break;
    case Collective::kConsensus:
      operation.bytes.assign(buffers.input, buffers.input + descriptor.bytes());
      operation.agreed = agreed;
      break;
    default: {
      operation.collective = Collective::kConsensus;
      const std::string what = to_string(descriptor) + fmt::format(" to {}", descriptor.root);
      const auto* const text = reinterpret_cast<const std::byte*>(what.data());
      operation.bytes.assign(text, text + what.size());
      operation.then = descriptor;
      operation.buffers = buffers;
    }
  }
  return operation;
}

Result<Ticket> TwoLevel::start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                               bool* agreed) {
  ORRERY_TRY_VOID(check_request(name, descriptor, buffers, size()));
  ORRERY_TRY(const OperationKey key, next_key(name));
  const auto [entry, is_new] =
      operations_.emplace(std::pair(key.name, key.sequence), describe(name, descriptor, buffers, agreed));
  ORRERY_CHECK(is_new);
  if (const Status begun = begin(entry->second); !begun) {
    operations_.erase(entry);
    return begun.error();
  }
  return Ticket{key};
}

Status TwoLevel::begin(Operation& operation) {
  operation.stage = Stage::kUp;
  ORRERY_TRY(operation.up, start_up(operation));
  // A result cannot come down before all parts have gone up, so a worker waits for both at once.
  if (!leads()) {
    ORRERY_TRY(operation.down, start_down(operation));
  }
  return {};
}

Result<Ticket> TwoLevel::start_up(Operation& operation) {
  const std::string name = operation.name + " (up)";
  switch (operation.collective) {
    case Collective::kAllReduce:
      return local_->reduce(name, operation.tensor, operation.op, 0);
    case Collective::kBroadcast:
      // On other ranks it only ensures that all descriptions agree.
      if (host() != operation.root_host) {
        return local_->reduce(name, {nullptr, 0, operation.tensor.type}, operation.op, 0);
      }
      return local_->broadcast(name, operation.tensor, operation.root_local);
    case Collective::kConsensus:
      return local_->consensus(name, operation.bytes, operation.agreed_here);
    default:
      return local_->barrier(name);
  }
}

Result<Ticket> TwoLevel::start_between(Operation& operation) {
  switch (operation.collective) {
    case Collective::kAllReduce:
      return between_->all_reduce(operation.name, operation.tensor, operation.op);
    case Collective::kBroadcast:
      return between_->broadcast(operation.name, operation.tensor, operation.root_host);
    case Collective::kConsensus: {
      // A host whose ranks disagree also disagrees with all others.
      const std::byte odd{static_cast<unsigned char>(host())};
      const std::span<const std::byte> bytes =
          operation.agreed_here ? std::span<const std::byte>(operation.bytes) : std::span(&odd, 1);
      return between_->consensus(operation.name, bytes, operation.agreed_between);
    }
    default:
      return between_->barrier(operation.name);
  }
}

Result<Ticket> TwoLevel::start_down(Operation& operation) {
  const std::string name = operation.name + " (down)";
  switch (operation.collective) {
    case Collective::kAllReduce:
      return local_->broadcast(name, operation.tensor, 0);
    case Collective::kBroadcast:
      // In the root's host all ranks have it already.
      return host() == operation.root_host ? local_->barrier(name) : local_->broadcast(name, operation.tensor, 0);
    case Collective::kConsensus:
      return local_->broadcast(name, {&operation.verdict, 1, DataType::kI8}, 0);
    default:
      return local_->barrier(name);
  }
}

// A generation that is over in one host is over in all.
Error TwoLevel::give_up(const Error& error) {
  if (leads() && !between_->revoked()) between_->revoke("a process of a host is gone: " + error.message());
  if (!local_->revoked()) local_->revoke();
  return error;
}

Status TwoLevel::measure(Seconds budget) {
  const Status measured = leads() ? between_->measure(budget) : Status();
  ORRERY_TRY_VOID(measured ? Status() : Status(give_up(measured.error())));
  ORRERY_TRY(const Ticket ticket, local_->barrier("orrery: measured"));
  return local_->wait(ticket);
}

void TwoLevel::revoke() {
  (void)give_up(Error::unavailable("a rank has ended it"));
}

namespace {

// An operation that matches none here, so that the other ranks learn of a disagreement elsewhere.
Result<Ticket> disagree(Collectives& session, const std::string& name) {
  return session.reduce_scatter(name, {nullptr, 0, DataType::kF64}, ReduceOp::kProduct);
}

// Ends a ticket if its operation has ended. Disagreements are recorded, all else is an error.
Result<bool> take(Collectives& session, Ticket ticket, Status& outcome) {
  ORRERY_TRY(const bool ended, session.poll(ticket));
  if (!ended) return false;
  Status status = session.wait(ticket);
  if (!status && status.error().code() != ErrorCode::kInvalidArgument) return std::move(status).error();
  if (!status && outcome) outcome = std::move(status);
  return true;
}

}  // namespace

Result<bool> TwoLevel::end_up(Operation& operation) {
  ORRERY_TRY(const bool over, take(*local_, *operation.up, operation.outcome));
  if (!over) return false;
  operation.up.reset();
  operation.stage = leads() ? Stage::kBetween : Stage::kDown;
  if (!leads()) return true;
  auto between = operation.outcome ? start_between(operation) : disagree(*between_, operation.name);
  ORRERY_TRY(operation.between, std::move(between));
  return true;
}

Result<bool> TwoLevel::end_between(Operation& operation) {
  ORRERY_TRY(const bool over, take(*between_, *operation.between, operation.outcome));
  if (!over) return false;
  operation.between.reset();
  operation.stage = Stage::kDown;
  operation.verdict = operation.agreed_here && operation.agreed_between ? 1 : 0;
  auto down = operation.outcome ? start_down(operation) : disagree(*local_, operation.name + " (down)");
  ORRERY_TRY(operation.down, std::move(down));
  return true;
}

Result<bool> TwoLevel::end_down(Operation& operation) {
  ORRERY_TRY(const bool over, take(*local_, *operation.down, operation.outcome));
  if (!over) return false;
  operation.down.reset();
  operation.stage = Stage::kOver;
  if (operation.collective == Collective::kConsensus && operation.outcome && operation.agreed != nullptr) {
    *operation.agreed = operation.verdict != 0;
  }
  if (operation.then) ORRERY_TRY_VOID(begin_what_was_agreed(operation));
  return true;
}

Status TwoLevel::begin_what_was_agreed(Operation& operation) {
  const Descriptor descriptor = *std::exchange(operation.then, std::nullopt);
  if (operation.outcome && operation.verdict == 0) {
    operation.outcome =
        Error::invalid(fmt::format("\"{}\": ranks disagree; here it is {}", operation.name, to_string(descriptor)));
  }
  if (!operation.outcome) return {};
  operation.name += " (agreed)";
  operation.is_agreed = true;
  operation.collective = Collective::kAllReduce;
  operation.bytes.clear();
  if (reduces(descriptor.collective)) return begin(operation);
  // Each rank's tensor is in its place, and zeros are in the places of the others: the sum is all of them.
  const std::size_t own = descriptor.bytes(), all = own * static_cast<std::size_t>(size());
  std::byte* output = operation.buffers.output;
  if (!receives(descriptor, rank_)) {
    operation.memory.resize(all);
    output = operation.memory.data();
  }
  std::byte* const place = output + own * static_cast<std::size_t>(rank_);
  if (own > 0) std::memmove(place, operation.buffers.input, own);
  std::fill(output, place, std::byte{0});
  std::fill(place + own, output + all, std::byte{0});
  operation.tensor = {output, all, DataType::kI8};
  operation.op = ReduceOp::kSum;
  return begin(operation);
}

Result<bool> TwoLevel::advance(Operation& operation) {
  switch (operation.stage) {
    case Stage::kUp:
      return end_up(operation);
    case Stage::kBetween:
      return end_between(operation);
    case Stage::kDown:
      return end_down(operation);
    case Stage::kOver:
      break;
  }
  return false;
}

Result<bool> TwoLevel::advance_all() {
  bool any = false;
  // The parts of operations of one name have one name as well, and have to be started in the same order everywhere: so
  // none advances further than the slowest before it.
  const Operation* slowest = nullptr;
  std::uint64_t name = 0;
  for (auto& [key, operation] : operations_) {
    if (key.first != name) slowest = nullptr;
    name = key.first;
    if (slowest == nullptr || slowest->is_after(operation)) {
      ORRERY_TRY(const bool moved, advance(operation));
      any = any || moved;
    }
    if (operation.stage != Stage::kOver && (slowest == nullptr || slowest->is_after(operation))) slowest = &operation;
  }
  if (!leads()) return any;
  ORRERY_TRY(const bool received, between_->progress());
  return any || received;
}

// News inside this host does not wake a rank that polls sockets, nor the other way round: so a leader sleeps where it
// expects news, and never for long.
void TwoLevel::rest(std::uint32_t looks) {
  constexpr std::uint32_t kYields = 8;
  const bool is_between = std::any_of(operations_.begin(), operations_.end(),
                                      [](const auto& one) { return one.second.stage == Stage::kBetween; });
  if (is_between) return between_->rest(looks, Seconds(0.001));
  if (looks < kYields) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void TwoLevel::limit(std::optional<Seconds> longest) {
  Collectives::limit(longest);
  if (local_ != nullptr) local_->limit(longest);
}

Status TwoLevel::drive(Operation& operation, Ticket ticket) {
  std::optional<env::Deadline> since;
  // A worker with only simple operations has nothing to do between their parts.
  const bool is_simple = !leads() && std::none_of(operations_.begin(), operations_.end(),
                                                  [](const auto& one) { return one.second.then.has_value(); });
  for (std::uint32_t looks = 0; operation.stage != Stage::kOver;) {
    if (is_simple) {
      // When the last result has arrived, so have all others.
      Status down = operation.down ? local_->wait(*operation.down) : Status();
      if (!down && down.error().code() != ErrorCode::kInvalidArgument) return down;
      Status up = operation.up ? local_->wait(*operation.up) : Status();
      if (!up && up.error().code() != ErrorCode::kInvalidArgument) return up;
      operation.up.reset();
      operation.down.reset();
      operation.stage = Stage::kOver;
      if (operation.outcome) operation.outcome = up ? std::move(down) : std::move(up);
      if (operation.agreed != nullptr && operation.outcome) *operation.agreed = operation.verdict != 0;
      return {};
    }
    ORRERY_TRY(const bool moved, advance_all());
    looks = moved ? 0 : looks + 1;
    if (looks == 0) continue;
    if (is_overdue(since)) return overdue_error(ticket);
    rest(looks);
  }
  return {};
}

Status TwoLevel::wait(Ticket ticket) {
  const auto found = operations_.find({ticket.key.name, ticket.key.sequence});
  if (found == operations_.end()) return Error::invalid("the operation was waited for already");
  const Status driven = drive(found->second, ticket);
  Status outcome = driven ? std::move(found->second.outcome) : Status(give_up(driven.error()));
  operations_.erase(found);
  return outcome;
}

Result<bool> TwoLevel::poll(Ticket ticket) {
  const auto found = operations_.find({ticket.key.name, ticket.key.sequence});
  if (found == operations_.end()) return Error::invalid("the operation was waited for already");
  if (const auto moved = advance_all(); !moved) return give_up(moved.error());
  return found->second.stage == Stage::kOver;
}

std::vector<int> TwoLevel::missing(Ticket ticket) const {
  std::vector<int> ranks;
  const auto found = operations_.find({ticket.key.name, ticket.key.sequence});
  if (found == operations_.end()) return ranks;
  const Operation& operation = found->second;
  const std::vector<int>& here = layout_.hosts[static_cast<std::size_t>(host())];
  if (operation.up) {
    for (const int local : local_->missing(*operation.up)) ranks.push_back(here[static_cast<std::size_t>(local)]);
  }
  if (operation.between) {
    for (const int one : between_->missing(*operation.between)) {
      ranks.push_back(layout_.hosts[static_cast<std::size_t>(one)].front());
    }
  }
  return ranks;
}

}  // namespace orrery::elastic::net
