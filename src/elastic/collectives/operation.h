#pragma once
// One operation as one rank sees it: who has announced it, whether all mean the same, and how far it is.
//
// An operation begins to exist with the first announcement, ours or another rank's, whichever comes first. It ends for
// its caller with a result or an error, and is forgotten when, besides, every rank has announced it: late announcements
// of an operation that failed must still find it.

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
  // Makes it a new operation; memory is kept for it.
  void reset(OperationKey key);

  // This rank starts it. `agreed` is written when a consensus ends, whose input is copied; null otherwise.
  void start(const Descriptor& descriptor, const Buffers& buffers, std::uint64_t place, bool* agreed);
  // Another rank has started it, with its tensor if that is small; if that was all it waited for, it ends here and now.
  // An error if the frame contradicts itself.
  Status announced(int from, const Frame& frame, std::span<const std::byte> payload, std::uint64_t inline_max);
  void arrived(const Staged::Piece& piece, Endpoint& endpoint);
  void done(int from) { direct_.done(from); }

  // Tells the others that it has been started here. False if there is no room for that now.
  bool announce(Endpoint& endpoint, const Staged::Probe& probe);
  // Once announced: does what can be done now. Whether anything was; an error if a peer sent what it should not. Until
  // all have announced, at most `early_blocks` blocks are spent; they are counted down, and up again when all have.
  Result<bool> advance(Endpoint& endpoint, std::uint32_t& early_blocks, const Staged::Probe& probe);

  const OperationKey& key() const { return key_; }
  bool is_started() const { return mine_.has_value(); }
  bool has_announced(int rank) const { return (announced_ >> rank & 1) != 0; }
  bool all_announced() const { return announced_ == everyone_; }
  bool has_ended() const { return ended_; }
  // Whether it waits for blocks or room that others have to give back.
  bool wants_room() const;
  // Gives back the blocks of others that it holds without need.
  void relieve(Endpoint& endpoint) { staged_.relieve(endpoint); }
  // Why it failed, if it did; `name` is for the message.
  Status outcome(std::string_view name) const;

  // For its session: on the list of those that have something to do; a ticket is out.
  bool is_queued = false, is_awaited = false;
  std::uint64_t started_as = 0;  // number of operations that the session had started before
  // Bytes of ours that others may have to keep.
  std::uint64_t inline_held(std::uint64_t inline_max) const;

 private:
  enum class Mode { kUndecided, kInlined, kStaged, kDirect };

  void compare(int from, const Descriptor& descriptor);
  void decide(Endpoint& endpoint, std::uint32_t& early_blocks);
  void return_early(std::uint32_t& early_blocks);
  void finish_inline(int last, std::span<const std::byte> payload);
  Frame frame() const;

  int rank_, ranks_;
  std::uint64_t everyone_;  // bits by rank
  OperationKey key_{};

  std::optional<Descriptor> mine_{};
  Descriptor descriptor_{};  // of the first who announced
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
  std::uint32_t early_used_ = 0;  // blocks spent before everyone had announced
};

}  // namespace orrery::elastic
