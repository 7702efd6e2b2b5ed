#pragma once
// One operation between hosts as one rank sees it: which ranks have announced it, whether their descriptions agree, and
// how far its schedule is.
//
// It begins to exist with the first announcement, our own or another rank's. Tensors move only when all ranks have
// announced the same operation, except that small first messages may go early (session.h). So a disagreement is known
// before any rank's memory has been touched. It is forgotten when it has ended and every rank has announced it.

#include <optional>
#include <string>
#include <vector>

#include "elastic/collectives/buffers.h"
#include "elastic/collectives/ticket.h"
#include "elastic/net/algorithm.h"
#include "elastic/net/executor.h"
#include "elastic/net/mesh.h"

namespace orrery::elastic::net {

using Probe = std::function<void(Moment)>;

class Operation final : public FrameOwner, private Executor::Outlet {
 public:
  Operation(Mesh& mesh, Blocks& blocks, const Probe& probe) : mesh_(mesh), blocks_(blocks), probe_(probe) {}
  // Resets it to a new operation and keeps its memory.
  void reset(OperationKey key);

  // This rank starts it and tells the others. `agreed` is written when a consensus ends, whose input is copied. First
  // messages of at most `early_max` bytes are sent at once.
  Status start(const Announcement& announcement, const Plan& plan, const Buffers& buffers, bool* agreed,
               std::uint64_t early_max);
  // Another rank has started it.
  Status announced(int from, const Announcement& announcement);

  // Where the payload can be written in place; null if it has to wait in a block. An error if it is not valid.
  Result<std::byte*> place(int from, const FrameHeader& header);
  void arrived_in_place(std::uint32_t part);
  // `credit`: how much of it was paid for.
  Status arrived(int from, std::uint32_t part, std::uint32_t bytes, std::uint32_t credit, Block block);

  // Does what can be done now.
  Status advance();

  const OperationKey& key() const { return key_; }
  bool is_started() const { return mine_.has_value(); }
  bool has_announced(int rank) const { return (announced_ >> rank & 1) != 0; }
  bool all_announced() const { return announced_ == all_ranks(); }
  bool has_ended() const { return ended_; }
  // Whether frames of it are still in queues.
  bool is_sending() const { return frames_ > 0; }
  // Why it failed, if it did; `name` is for the message.
  Status outcome(std::string_view name) const;

  // Fields of the session: whether it is on the list of operations with work to do; whether its ticket is not yet
  // waited for.
  bool is_queued = false, is_awaited = false;
  // Called when a frame was written, so that the session checks it again.
  std::function<void(Operation&)> on_written{};

  void written(std::uint32_t part) override;

 private:
  // What arrived before this rank started the operation.
  struct Early {
    int from = 0;
    std::uint32_t part = 0, bytes = 0, credit = 0;
    Block block{};
  };

  std::uint64_t all_ranks() const { return mesh_.size() == 64 ? ~0ULL : (1ULL << mesh_.size()) - 1; }
  bool is_running() const { return mine_ && all_announced() && !other_; }
  FrameHeader header(FrameKind kind, std::uint32_t part) const;
  void compare(int from, const Announcement& announcement);
  Status check_expected(int from, std::uint32_t part, std::uint32_t bytes) const;
  Status take_early();
  void finish();

  void send(int to, std::uint32_t part, std::span<const std::byte> bytes) override;
  bool send_early(int to, std::uint32_t part, std::span<const std::byte> bytes) override;
  void reached(Moment moment) override;

  Mesh& mesh_;
  Blocks& blocks_;
  const Probe& probe_;
  OperationKey key_{};

  std::optional<Announcement> mine_{};
  Announcement first_{};  // of the first rank that announced
  int first_rank_ = -1;
  std::optional<Announcement> other_{};  // a different one
  int other_rank_ = -1;
  std::uint64_t announced_ = 0;  // bits by rank

  Schedule schedule_;
  Executor executor_;
  bool begun_ = false, ended_ = false;
  std::vector<Early> early_;
  std::vector<std::uint32_t> ready_;  // parts of which something was written
  std::uint32_t frames_ = 0;          // in queues
  bool* agreed_ = nullptr;
  std::vector<std::byte> digests_;  // of a consensus
};

}  // namespace orrery::elastic::net
