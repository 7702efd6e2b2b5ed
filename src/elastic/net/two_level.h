#pragma once
// Collectives among processes on several hosts, each host through its shared memory and the hosts among each other
// through one leader each: bytes cross the network once per host, not once per process.
//
//   all-reduce   1. a reduction inside each host to its leader, local rank 0
//                2. an all-reduce between the leaders, by whatever algorithm they choose
//                3. a broadcast inside each host
//   broadcast    inside the root's host; between the leaders; inside the other hosts
//   barrier      inside, between, inside
//
// S bytes, h hosts: the network carries 2·(h−1)/h·S per leader (clique or ring), whatever the number of processes.
// Tensors are combined in rank order inside a host, and between hosts as the leaders' algorithm does; 16-bit floats are
// rounded once per host and once more between them.
//
// The guarantees of elastic::Session hold over all hosts: disagreements are kInvalidArgument everywhere, and an epoch
// that is revoked in one host or between them is revoked in all. Global ranks count the processes of host 0 first, then
// those of host 1, and so on. Work is done inside calls; it belongs to the thread of the seat.

#include <deque>
#include <map>

#include "elastic/net/session.h"
#include "elastic/session.h"

namespace orrery::elastic::net {

struct SpanTicket {
  std::uint64_t number = 0;
};

class TwoLevel {
 public:
  // `between` is the session of the leaders, in the order of hosts; null on everyone but local rank 0. `host_sizes`
  // says how many processes each host has, `host` is ours. Both sessions must outlive this.
  static Result<std::unique_ptr<TwoLevel>> make(elastic::Session& local, Session* between, std::vector<int> host_sizes,
                                                int host);

  int rank() const;
  int size() const;

  Result<SpanTicket> all_reduce(const std::string& name, TensorView tensor, ReduceOp op);
  Result<SpanTicket> broadcast(const std::string& name, TensorView tensor, int root);
  Result<SpanTicket> barrier(const std::string& name);
  // Returns when the operation has ended, or the epoch.
  Status wait(SpanTicket ticket);

 private:
  // What is done after what; only a leader has a stage in between.
  enum class Stage { kUp, kBetween, kDown, kOver };
  struct Operation {
    std::string name;
    Collective collective = Collective::kBarrier;
    TensorView tensor{};
    ReduceOp op = ReduceOp::kSum;
    int root_host = 0, root_local = 0;
    Stage stage = Stage::kUp;
    std::optional<elastic::Ticket> up{}, between{}, down{};
    Status outcome{};
  };

  TwoLevel(elastic::Session& local, Session* between, std::vector<int> host_sizes, int host)
      : local_(local), between_(between), host_sizes_(std::move(host_sizes)), host_(host) {}

  bool leads() const { return between_ != nullptr; }
  Result<SpanTicket> start(Operation operation);
  Result<elastic::Ticket> start_up(const Operation& operation);
  Result<elastic::Ticket> start_between(const Operation& operation);
  Result<elastic::Ticket> start_down(const Operation& operation);
  // Whether a stage has ended, moving everything forward.
  Status wait_as_member(Operation& operation);
  Status wait_as_leader(Operation& operation);
  Result<bool> advance(Operation& operation);
  Status give_up(const Error& error);

  elastic::Session& local_;
  Session* between_;
  std::vector<int> host_sizes_;
  int host_;
  std::map<std::uint64_t, Operation> operations_;
  std::uint64_t next_ = 0;
};

}  // namespace orrery::elastic::net
