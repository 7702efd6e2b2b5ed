#include "elastic/net/two_level.h"

#include <fmt/format.h>
#include <numeric>

namespace orrery::elastic::net {

Result<std::unique_ptr<TwoLevel>> TwoLevel::make(elastic::Session& local, Session* between, std::vector<int> host_sizes,
                                                 int host) {
  const auto hosts = static_cast<int>(host_sizes.size());
  if (host < 0 || host >= hosts || host_sizes[static_cast<std::size_t>(host)] != local.size()) {
    return Error::invalid(fmt::format("host {} of {} with {} processes", host, hosts, local.size()));
  }
  if ((between != nullptr) != (local.rank() == 0)) return Error::invalid("local rank 0, and nobody else, leads");
  if (between != nullptr && (between->rank() != host || between->size() != hosts)) {
    return Error::invalid(
        fmt::format("the leader of host {} of {} is rank {} of {}", host, hosts, between->rank(), between->size()));
  }
  return std::unique_ptr<TwoLevel>(new TwoLevel(local, between, std::move(host_sizes), host));
}

int TwoLevel::rank() const {
  return std::accumulate(host_sizes_.begin(), host_sizes_.begin() + host_, local_.rank());
}

int TwoLevel::size() const {
  return std::accumulate(host_sizes_.begin(), host_sizes_.end(), 0);
}

Result<SpanTicket> TwoLevel::all_reduce(const std::string& name, TensorView tensor, ReduceOp op) {
  return start({.name = name, .collective = Collective::kAllReduce, .tensor = tensor, .op = op});
}

Result<SpanTicket> TwoLevel::broadcast(const std::string& name, TensorView tensor, int root) {
  ORRERY_TRY_VOID(check_root(root, size()));
  Operation operation = {.name = name, .collective = Collective::kBroadcast, .tensor = tensor};
  for (; root >= host_sizes_[static_cast<std::size_t>(operation.root_host)]; ++operation.root_host) {
    root -= host_sizes_[static_cast<std::size_t>(operation.root_host)];
  }
  operation.root_local = root;
  return start(std::move(operation));
}

Result<SpanTicket> TwoLevel::barrier(const std::string& name) {
  return start({.name = name, .collective = Collective::kBarrier});
}

Result<elastic::Ticket> TwoLevel::start_up(const Operation& operation) {
  const std::string name = operation.name + " (up)";
  switch (operation.collective) {
    case Collective::kAllReduce:
      return local_.reduce(name, operation.tensor, operation.op, 0);
    case Collective::kBroadcast:
      // Elsewhere it only makes sure that everyone means the same.
      if (host_ != operation.root_host)
        return local_.reduce(name, {nullptr, 0, operation.tensor.type}, operation.op, 0);
      return local_.broadcast(name, operation.tensor, operation.root_local);
    default:
      return local_.barrier(name);
  }
}

Result<elastic::Ticket> TwoLevel::start_between(const Operation& operation) {
  switch (operation.collective) {
    case Collective::kAllReduce:
      return between_->all_reduce(operation.name, operation.tensor, operation.op);
    case Collective::kBroadcast:
      return between_->broadcast(operation.name, operation.tensor, operation.root_host);
    default:
      return between_->barrier(operation.name);
  }
}

Result<elastic::Ticket> TwoLevel::start_down(const Operation& operation) {
  const std::string name = operation.name + " (down)";
  switch (operation.collective) {
    case Collective::kAllReduce:
      return local_.broadcast(name, operation.tensor, 0);
    case Collective::kBroadcast:
      // In the root's host everyone has it already.
      return host_ == operation.root_host ? local_.barrier(name) : local_.broadcast(name, operation.tensor, 0);
    default:
      return local_.barrier(name);
  }
}

Result<SpanTicket> TwoLevel::start(Operation operation) {
  ORRERY_TRY(operation.up, start_up(operation));
  // What comes down cannot come before everyone's part has gone up, so a member waits for both at once.
  if (!leads()) {
    ORRERY_TRY(operation.down, start_down(operation));
  }
  const SpanTicket ticket{next_++};
  operations_.emplace(ticket.number, std::move(operation));
  return ticket;
}

// An epoch that is over somewhere is over everywhere.
Status TwoLevel::give_up(const Error& error) {
  if (leads() && !between_->revoked()) between_->revoke("a process of a host is gone: " + error.message());
  if (!local_.revoked()) local_.revoke();
  return error;
}

// As a leader: takes the next step of one operation. Whether it did.
Result<bool> TwoLevel::advance(Operation& operation) {
  const auto is_over = [&](bool ended, const Status& status) -> Result<bool> {
    if (!ended) return false;
    if (!status && status.error().code() != ErrorCode::kInvalidArgument) return status.error();
    if (!status && operation.outcome) operation.outcome = status;
    return true;
  };
  switch (operation.stage) {
    case Stage::kUp: {
      ORRERY_TRY(const bool ended, local_.poll(*operation.up));
      ORRERY_TRY(const bool over, is_over(ended, ended ? local_.wait(*operation.up) : Status()));
      if (!over) return false;
      // Whoever disagrees in one host makes all leaders disagree: a barrier is certainly something else, or, where one
      // was asked for, a broadcast of nothing.
      const bool was_barrier = operation.collective == Collective::kBarrier;
      auto between = operation.outcome ? start_between(operation)
                     : was_barrier     ? between_->broadcast(operation.name, {nullptr, 0, DataType::kF32}, 0)
                                       : between_->barrier(operation.name);
      ORRERY_TRY(operation.between, std::move(between));
      operation.stage = Stage::kBetween;
      return true;
    }
    case Stage::kBetween: {
      ORRERY_TRY(const bool ended, between_->poll(*operation.between));
      ORRERY_TRY(const bool over, is_over(ended, ended ? between_->wait(*operation.between) : Status()));
      if (!over) return false;
      const bool goes_down_as_barrier =
          operation.collective == Collective::kBarrier ||
          (operation.collective == Collective::kBroadcast && host_ == operation.root_host);
      const std::string name = operation.name + " (down)";
      auto down = operation.outcome      ? start_down(operation)
                  : goes_down_as_barrier ? local_.broadcast(name, {nullptr, 0, DataType::kF32}, 0)
                                         : local_.barrier(name);
      ORRERY_TRY(operation.down, std::move(down));
      operation.stage = Stage::kDown;
      return true;
    }
    case Stage::kDown: {
      ORRERY_TRY(const bool ended, local_.poll(*operation.down));
      ORRERY_TRY(const bool over, is_over(ended, ended ? local_.wait(*operation.down) : Status()));
      if (over) operation.stage = Stage::kOver;
      return over;
    }
    case Stage::kOver:
      return false;
  }
  return false;
}

Status TwoLevel::wait_as_leader(Operation& operation) {
  for (std::uint32_t looks = 0; operation.stage != Stage::kOver;) {
    bool moved = false;
    for (auto& [number, other] : operations_) {
      ORRERY_TRY(const bool advanced, advance(other));
      moved = moved || advanced;
    }
    ORRERY_TRY(const bool received, between_->progress());
    looks = moved || received ? 0 : looks + 1;
    // News of this host wakes nobody who looks at sockets, so it never sleeps for long.
    if (looks > 0) between_->rest(looks, Seconds(0.0005));
  }
  return operation.outcome;
}

Status TwoLevel::wait_as_member(Operation& operation) {
  const Status down = local_.wait(*operation.down);
  if (!down && down.error().code() != ErrorCode::kInvalidArgument) return down;
  const Status up = local_.wait(*operation.up);
  return up ? down : up;
}

Status TwoLevel::wait(SpanTicket ticket) {
  const auto found = operations_.find(ticket.number);
  if (found == operations_.end()) return Error::invalid("the operation was waited for already");
  const Status status = leads() ? wait_as_leader(found->second) : wait_as_member(found->second);
  operations_.erase(found);
  if (!status && status.error().code() != ErrorCode::kInvalidArgument) return give_up(status.error());
  return status;
}

}  // namespace orrery::elastic::net
