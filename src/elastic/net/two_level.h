#pragma once
// Collectives among processes on several hosts. Each host uses its shared memory, and the hosts communicate through one
// leader each, its first rank: bytes cross the network once per host, not once per process.
//
//   all-reduce   1. a reduction inside each host to its leader
//                2. an all-reduce between the leaders, by the algorithm that they choose
//                3. a broadcast inside each host
//   broadcast    inside the root's host; between the leaders; inside the other hosts
//   barrier      inside, between, inside
//   consensus    inside, between, and the verdict inside
//   others       a consensus on the description, then an all-reduce: reduce and reduce-scatter of the tensor, gathers
//                of all tensors beside each other, zero where they are not ours
//
// S bytes, h hosts: the network carries 2·(h−1)/h·S per leader (clique or ring), for any number of processes. Tensors
// are combined in rank order inside a host, and between hosts as the leaders' algorithm does; 16-bit floats are rounded
// once per host and once more between them.
//
// The guarantees of elastic::Session hold over all hosts: disagreements are kInvalidArgument everywhere, and a
// generation that is revoked in one host or between them is revoked in all. Work is done inside calls; it belongs to
// the thread of the slot lease.

#include <array>
#include <map>
#include <optional>

#include "elastic/net/session.h"
#include "elastic/session.h"

namespace orrery::elastic::net {

// Which ranks are on which host. Hosts are in the order of their first ranks, which lead them.
struct HostLayout {
  std::vector<std::vector<int>> hosts{};  // ranks, ascending
  std::vector<int> host_of{};             // by rank

  // From any numbers that distinguish hosts.
  static HostLayout from(const std::vector<std::uint32_t>& host_by_rank);
  int local_rank(int rank) const;
  bool leads(int rank) const { return local_rank(rank) == 0; }
  // Whether any host has several ranks, and there are several hosts.
  bool is_worth_it() const;
};

class TwoLevel final : public Collectives {
 public:
  // `local` has the ranks of the host of `rank`; `between` the leaders, in the order of hosts: null on all other ranks.
  static Result<std::unique_ptr<TwoLevel>> make(std::unique_ptr<elastic::Session> local,
                                                std::unique_ptr<Session> between, HostLayout layout, int rank);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(layout_.host_of.size()); }
  std::uint64_t generation() const override { return local_->generation(); }

  Status wait(Ticket ticket) override;
  void limit(std::optional<Seconds> longest) override;
  Result<bool> poll(Ticket ticket) override;
  // Of other hosts, a leader knows at most that their leaders are missing, and other ranks know nothing.
  std::vector<int> missing(Ticket ticket) const override;

  // Measures the network between hosts.
  Status measure(Seconds budget) override;
  void revoke() override;
  bool revoked() const override { return local_->revoked() || (leads() && between_->revoked()); }

 private:
  // The stages in their order; only a leader has a stage in between.
  enum class Stage { kUp, kBetween, kDown, kOver };
  struct Operation {
    std::string name;
    Collective collective = Collective::kBarrier;  // one of the first four
    TensorView tensor{};
    ReduceOp op = ReduceOp::kSum;
    int root_host = 0, root_local = 0;
    Stage stage = Stage::kUp;
    bool is_agreed = false;  // of one that needs agreement first: it has been agreed on
    std::optional<Ticket> up{}, between{}, down{};
    Status outcome{};
    // Of a consensus.
    std::vector<std::byte> bytes{};
    bool agreed_here = false, agreed_between = false;
    std::int8_t verdict = 0;
    bool* agreed = nullptr;
    // Of one that needs agreement first.
    std::optional<Descriptor> then{};
    Buffers buffers{};
    std::vector<std::byte> memory{};

    // Whether it has advanced further than the other.
    bool is_after(const Operation& other) const {
      return stage == Stage::kOver || std::pair(is_agreed, stage) > std::pair(other.is_agreed, other.stage);
    }
  };

  TwoLevel(std::unique_ptr<elastic::Session> local, std::unique_ptr<Session> between, HostLayout layout, int rank)
      : local_(std::move(local)), between_(std::move(between)), layout_(std::move(layout)), rank_(rank) {}

  bool leads() const { return between_ != nullptr; }
  int host() const { return layout_.host_of[static_cast<std::size_t>(rank_)]; }
  Result<Ticket> start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                       bool* agreed) override;
  Operation describe(std::string_view name, const Descriptor& descriptor, const Buffers& buffers, bool* agreed) const;
  Status begin(Operation& operation);
  Result<Ticket> start_up(Operation& operation);
  Result<Ticket> start_between(Operation& operation);
  Result<Ticket> start_down(Operation& operation);
  // Advances an operation by one step. Returns whether it did.
  Result<bool> advance(Operation& operation);
  Result<bool> end_up(Operation& operation);
  Result<bool> end_between(Operation& operation);
  Result<bool> end_down(Operation& operation);
  Status begin_what_was_agreed(Operation& operation);
  Result<bool> advance_all();
  Status drive(Operation& operation, Ticket ticket);
  void rest(std::uint32_t looks);
  Error give_up(const Error& error);

  std::unique_ptr<elastic::Session> local_;
  std::unique_ptr<Session> between_;
  HostLayout layout_;
  int rank_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Operation> operations_;  // by name and sequence
};

}  // namespace orrery::elastic::net
