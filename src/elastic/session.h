#pragma once
// Collective operations among the ranks of one membership generation on one host.
//
// Operations are named. Each rank starts them in any order, any number at a time, and waits for them in any order; the
// n-th operation of a name on one rank belongs to the n-th of that name on every other. There is no coordinator.
//
// What holds for every operation:
//   - It ends on no rank before every rank has started it.
//   - If ranks describe it differently (kind, type, count, combination, root), it ends with kInvalidArgument on all
//     ranks that start it. Later operations, also of that name, are not affected.
//   - If a rank dies or leaves with operations of others unfinished, the generation is revoked: every unfinished
//     operation ends with kUnavailable, on every rank, and no operation can be started any more. A new generation
//     follows.
//   - Results do not depend on timing: inputs are combined in rank order (reduce/kernels.h), by every algorithm.
//
// Work is done inside calls: start, wait and poll of any operation advance all operations. A session belongs to the
// thread of its slot lease. Tensors are borrowed until their operation has ended; other ranks may still write to a
// tensor in the arena whose operation was revoked until the next session has been opened.

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "elastic/collectives/collectives.h"
#include "elastic/collectives/operation.h"
#include "elastic/host/endpoint.h"

namespace orrery::elastic {

struct SessionOptions {
  EndpointOptions endpoint{};
  Staged::Probe probe{};  // called at cut points; for tests
};

class Session final : public Collectives {
 public:
  // Returns when every worker has opened the same generation (see Endpoint::open).
  static Result<std::unique_ptr<Session>> open(SlotLease& lease, const SessionOptions& options);
  // Revokes the generation if operations are unfinished.
  ~Session() override;

  int rank() const override { return endpoint_->rank(); }
  int size() const override { return endpoint_->size(); }
  std::uint64_t generation() const override { return endpoint_->generation(); }

  // At most this many tickets may be open at a time, with at most this many bytes of tensors that are small enough to
  // travel in frames: other ranks may have to keep them. More is kInfeasible.
  static constexpr std::size_t kTicketsMax = 16384;
  static constexpr std::uint64_t kInlineBytesMax = 16 << 20;

  Status wait(Ticket ticket) override;
  Result<bool> poll(Ticket ticket) override;
  std::vector<int> missing(Ticket ticket) const override;

  void revoke() override { endpoint_->revoke(); }
  bool revoked() const override { return endpoint_->revoked(); }

 private:
  using Operations = std::unordered_map<OperationKey, std::unique_ptr<Operation>, OperationKeyHash>;

  explicit Session(std::unique_ptr<Endpoint> endpoint, Staged::Probe probe);
  Result<Ticket> start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                       bool* agreed) override;
  Operation* find(OperationKey key) const;
  Operation& find_or_make(OperationKey key);
  Status take(int from, const Frame& frame, std::span<const std::byte> payload);
  void queue(Operation& operation);
  void forget_if_over(Operation& operation);
  Result<bool> progress();
  bool announce_started();
  Result<bool> advance_queued();
  Status drive(Operation& operation, Ticket ticket);
  // Returns an error once the generation is over for `operation`; revokes it if a rank is gone for good.
  Status check_peers(const Operation& operation);
  Error revoked_error() const;

  std::unique_ptr<Endpoint> endpoint_;
  Staged::Probe probe_;
  Operations operations_;
  std::vector<Operations::node_type> spare_;
  std::deque<Operation*> unannounced_;  // wait for space, in the order of their start
  std::vector<Operation*> queue_;       // have work to do
  std::vector<Operation*> being_done_;  // the queue while it is worked on
  std::uint32_t early_blocks_;          // that may still be spent on operations not all have announced
  std::uint64_t started_ = 0;           // operations so far
  std::size_t tickets_ = 0;
  std::uint64_t inline_bytes_ = 0;  // of operations with tickets
};

}  // namespace orrery::elastic
