#pragma once
// One operation as one rank sees it: which ranks have announced it, whether their descriptions agree, and how far it
// is.
//
// An operation begins to exist with the first announcement, our own or another rank's. It ends for its caller with a
// result or an error. It is forgotten once, besides, every rank has announced it: late announcements of an operation
// that failed must still find it.

#include <optional>
#include <string>
#include <vector>

#include "elastic/collectives/buffers.h"
#include "elastic/collectives/direct.h"
#include "elastic/collectives/staged.h"
#include "elastic/collectives/ticket.h"
#include "elastic/frame.h"

namespace orrery::elastic {

class Operation {
 public:
  // Rank `rank` of `ranks`.
  Operation(int rank, int ranks);
  // Resets it to a new operation and keeps its memory.
  void reset(OperationKey key);

  // This rank starts it. `agreed` is written when a consensus ends, whose input is copied; it is null otherwise.
  void start(const Descriptor& descriptor, const Buffers& buffers, std::uint64_t place, bool* agreed);
  // Another rank has started it, and sends its tensor along if that is small. If this was the last missing rank, a
  // small operation ends at once. Returns an error if the frame contradicts itself.
  Status announced(int from, const Frame& frame, std::span<const std::byte> payload, std::uint64_t inline_max);
  void arrived(const Staged::Piece& piece, Endpoint& endpoint);
  void done(int from) { direct_.done(from); }

  // Tells the other ranks that it has been started here. Returns false if there is no space for the frame now.
  bool announce(Endpoint& endpoint, const Staged::Probe& probe);
  // Does what can be done now, once announced. Returns whether anything was done, or an error if a peer sent a wrong
  // frame. Until all ranks have announced, it spends at most `early_blocks` blocks, counts them down, and counts them
  // up again when all have announced.
  Result<bool> advance(Endpoint& endpoint, std::uint32_t& early_blocks, const Staged::Probe& probe);

  const OperationKey& key() const { return key_; }
  bool is_started() const { return mine_.has_value(); }
  bool has_announced(int rank) const { return (announced_ >> rank & 1) != 0; }
  bool all_announced() const { return announced_ == all_ranks_; }
  bool has_ended() const { return ended_; }
  // Whether it waits for blocks or space that other ranks have to give back.
  bool wants_space() const;
  // Gives back the blocks of other ranks that it holds without need.
  void relieve(Endpoint& endpoint) { staged_.relieve(endpoint); }
  // Why it failed, if it did; `name` is for the message.
  Status outcome(std::string_view name) const;

  // Fields of the session: whether it is on the list of operations with work to do; whether its ticket is not yet
  // waited for.
  bool is_queued = false, is_awaited = false;
  std::uint64_t started_as = 0;  // number of operations that the session had started before
  // Bytes of ours that other ranks may have to keep.
  std::uint64_t inline_held(std::uint64_t inline_max) const;

 private:
  enum class Mode { kUndecided, kInlined, kStaged, kDirect };

  void compare(int from, const Descriptor& descriptor);
  void decide(Endpoint& endpoint, std::uint32_t& early_blocks);
  void return_early(std::uint32_t& early_blocks);
  void finish_inline(int last, std::span<const std::byte> payload);
  Frame frame() const;

  int rank_, ranks_;
  std::uint64_t all_ranks_;  // bits by rank
  OperationKey key_{};

  std::optional<Descriptor> mine_{};
  Descriptor descriptor_{};  // of the first rank that announced
  int first_ = -1;
  std::optional<Descriptor> other_{};  // a different one
  int other_rank_ = -1;

  bool announcement_sent_ = false, ended_ = false;
  std::uint64_t announced_ = 0;
  std::vector<std::uint64_t> places_;
  std::vector<std::vector<std::byte>> payloads_;
  Buffers buffers_{};
  bool* agreed_ = nullptr;
  std::array<std::byte, kDigestBytes> digest_{};

  Mode mode_ = Mode::kUndecided;
  Staged staged_;
  Direct direct_;
  std::uint32_t early_used_ = 0;  // blocks spent before all ranks had announced
};

}  // namespace orrery::elastic
