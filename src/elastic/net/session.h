#pragma once
// Collective operations among the ranks of one membership generation on several hosts, over TCP: the interface and the
// guarantees of elastic::Session (elastic/session.h), which says more about both.
//
//   - Operations are named. Each rank starts any number of them in any order, and waits in any order; there is no
//     coordinator. An operation ends on no rank before every rank has started it.
//   - Ranks that describe an operation differently all get kInvalidArgument; later operations are not affected.
//   - If a rank dies, leaves with operations of others unfinished, or its machine falls silent (mesh.h), the generation
//     is revoked: every unfinished operation ends with kUnavailable on every rank.
//   - Results do not depend on timing, and all ranks have the same bits. The order in which tensors are combined is the
//     algorithm's (algorithms/); exchange, clique and star combine in rank order with one rounding, as on one host.
//
// What is sent when: a rank that starts an operation announces it to all others. Tensors move when all ranks have
// announced it, so everything that arrives is wanted and is bounded by what its receiver has itself started. Only first
// messages of small tensors are sent at once, on credit (link.h); without credit they wait like the rest. So no order
// of starting can make ranks wait for each other, and because of a rank that never reads no other has to keep more than
// its own tensors.
//
// Work is done inside calls; a session belongs to one thread. Tensors are borrowed until their operation has ended.

#include <deque>
#include <memory>
#include <unordered_map>

#include "elastic/collectives/collectives.h"
#include "elastic/net/choice.h"
#include "elastic/net/operation.h"
#include "elastic/net/store.h"

namespace orrery::elastic::net {

struct SessionOptions {
  MeshOptions mesh{};
  std::uint64_t chunk_bytes = 256 << 10;  // of a part; the same on all ranks, at most mesh.data_bytes
  std::uint64_t early_max = 16 << 10;     // first messages of tensors up to this size are sent at once
  Probe probe{};                          // called at cut points; for tests
};

class Session final : public Collectives, private Receiver {
 public:
  // Returns when every rank has opened the same generation.
  static Result<std::unique_ptr<Session>> open(Listener& listener, const SessionOptions& options);
  // Revokes the generation if operations are unfinished.
  ~Session() override;

  int rank() const override { return mesh_->rank(); }
  int size() const override { return mesh_->size(); }
  std::uint64_t generation() const override { return mesh_->generation(); }

  // At most this many tickets may be open at a time; more is kInfeasible.
  static constexpr std::size_t kTicketsMax = 16384;

  Status wait(Ticket ticket) override;
  Result<bool> poll(Ticket ticket) override;
  std::vector<int> missing(Ticket ticket) const override;

  // Publishes a tensor for others to pull, and pulls one of theirs (store.h).
  Status publish(std::string_view name, std::uint64_t version, ConstTensorView tensor);
  Result<PullTicket> pull(int from, std::string_view name, std::uint64_t version, TensorView tensor);
  // The version that was received.
  Result<std::uint64_t> wait(PullTicket ticket);

  // The following three are called by all ranks, at the same place in their programs, with no operation unfinished
  // (kInvalidArgument otherwise); they return when all have.
  //
  // Measures the links (of up to kLinksMeasuredMax ranks) and the algorithms, for about the budget on a network that is
  // not too slow for it, and lets all ranks choose by the times of the slowest rank (choice.h); it overrides settings
  // by the other two.
  Status measure(Seconds budget) override;
  static constexpr int kLinksMeasuredMax = 16;
  // Uses one algorithm wherever it can do the operation; no value: by the table again.
  Status set_algorithm(std::optional<Algorithm> algorithm);
  // Uses a given tree for all-reduces, and for reductions and broadcasts from its root. Parents by rank, −1 for the
  // root; the same on all ranks.
  Status set_tree(std::vector<int> parents);

  const Choice& choice() const { return choice_; }
  // How long nothing has come from a rank: it computes, is stopped, or starves.
  Seconds quiet(int rank) const { return mesh_->quiet(rank); }
  std::uint64_t bytes_sent() const { return mesh_->bytes_written(); }

  // Advances all operations once, without waiting. Returns whether anything moved.
  Result<bool> progress();
  // Waits a moment after `looks` calls of progress() without news, at most `longest`.
  void rest(std::uint32_t looks, Seconds longest) { mesh_->rest_at_most(looks, longest); }
  void revoke() override { revoke("a rank has ended it"); }
  // The same, with the reason that is sent to others.
  void revoke(const std::string& reason) { mesh_->revoke(reason); }
  bool revoked() const override { return mesh_->revoked(); }

 private:
  Session(std::unique_ptr<Mesh> mesh, const SessionOptions& options);
  Result<Ticket> start(std::string_view name, const Descriptor& descriptor, const Buffers& buffers,
                       bool* agreed) override;
  Operation* find(OperationKey key) const;
  Operation& find_or_make(OperationKey key);
  void queue(Operation& operation);
  void forget_if_over(Operation& operation);
  Status advance_queued();
  Status check_peers(const Operation& operation);
  Status check_idle(std::string_view what) const;
  Status wait_for(const std::function<bool()>& over, const std::function<Status()>& check);
  struct Links {
    std::vector<int> tree{};  // that suits them; empty if there are too many
    bool some_are_slow = false;
  };
  Result<Links> measure_links();
  // Of the values that all ranks give.
  Result<double> slowest(double own);
  Result<double> time_all_reduce(std::span<float> memory, Algorithm algorithm, int repetitions);

  Result<std::byte*> place(int from, const FrameHeader& header) override;
  Status arrived(int from, const FrameHeader& header, std::byte* payload) override;
  Status announced(int from, const FrameHeader& header, const std::byte* payload);
  Status data_arrived(int from, const FrameHeader& header, const std::byte* payload);

  std::unique_ptr<Mesh> mesh_;
  std::uint64_t chunk_bytes_, early_max_;
  Probe probe_;
  Blocks blocks_;
  Choice choice_;
  std::vector<int> parents_;        // of the given tree
  std::uint64_t measurements_ = 0;  // of links, so far
  Store store_;
  std::unordered_map<OperationKey, std::unique_ptr<Operation>, OperationKeyHash> operations_;
  std::vector<std::unique_ptr<Operation>> spare_;
  std::vector<Operation*> queue_;       // have work to do
  std::vector<Operation*> being_done_;  // the queue while it is worked on
  std::vector<Block> incoming_;         // by rank: memory for what is being read and has no other place
  std::vector<std::size_t> ahead_;      // by rank: operations that it has announced and we have not started
  std::size_t tickets_ = 0;
};

}  // namespace orrery::elastic::net
