#pragma once
// Large operations on private memory: tensors pass through blocks of shared memory, in pieces, as a pipeline.
//
//   1. scatter   each rank copies slice j of its tensor to blocks and lends them to rank j, for all j but itself
//   2. combine   rank j combines the pieces of slice j from all ranks, in rank order, into its own memory
//   3. publish   in the same traversal it writes them to blocks, which it lends to all receiving ranks
//   4. take      the other ranks copy them to their memory
//
// Gathers and broadcasts have steps 3 and 4 only. No step waits for a whole tensor: piece k is combined while k+1 is
// copied. Traffic of an all-reduce per rank, S bytes and n ranks: (n−1)/n·S copied in, S read and 2·S/n written to
// combine and publish, (n−1)/n·S taken.
//
// A lack of blocks cannot cause a deadlock: taking results needs no block of one's own, and a rank that has nothing
// else to do copies the pieces it cannot combine yet to its own memory and gives the blocks back (relieve). So every
// lent block comes back in all cases; the price is at most (n−1)/n·S bytes of memory per operation, in the rare case.
// Until all ranks have announced an operation, only a limited number of blocks is spent on it (`early`), because its
// readers may start late.

#include <optional>
#include <unordered_map>
#include <vector>

#include "elastic/collectives/buffers.h"
#include "elastic/host/endpoint.h"

namespace orrery::elastic {

class Staged {
 public:
  using Probe = std::function<void(CutPoint)>;
  // Called once, when the operation is known to be staged.
  void begin(const Descriptor& descriptor, const Buffers& buffers, int rank, int ranks, std::uint64_t block_bytes);
  // Resets it for another operation.
  void reset();

  // A piece for this rank has arrived, possibly before begin().
  struct Piece {
    int from = 0;
    FrameKind kind = FrameKind::kScatter;
    std::uint64_t offset = 0;  // from the beginning of the slice
    std::uint32_t bytes = 0;
    std::uint32_t block = 0;
  };
  void arrived(const Piece& piece) { inbox_.push_back(piece); }

  // Does what can be done now and returns whether anything was done. With `early` it only scatters, to at most that
  // many blocks, and counts them down. Returns an error if a piece does not belong to the operation. `probe` may be
  // empty.
  Result<bool> advance(Endpoint& endpoint, const Frame& name, std::uint32_t* early, const Probe& probe);
  bool complete() const;
  // Gives back the blocks of pieces that have to wait for other ranks.
  void relieve(Endpoint& endpoint);
  // Gives all pieces back unread.
  void drop(Endpoint& endpoint);
  bool wants_blocks() const;

 private:
  std::uint64_t pieces_of(Range range) const { return (range.size() + block_bytes_ - 1) / block_bytes_; }
  const void* input(Endpoint& endpoint, std::uint64_t index, int from) const;
  Range piece(Range range, std::uint64_t index) const;
  bool scatter(Endpoint& endpoint, const Frame& name, std::uint32_t* early, const Probe& probe);
  Status sort_inbox(Endpoint& endpoint, const Probe& probe);
  Status take(Endpoint& endpoint, const Piece& piece);
  bool combine(Endpoint& endpoint, const Frame& name, const Probe& probe);
  // Lends the next piece to publish, which is in the block; false if there is no space for the frame.
  bool send_published(Endpoint& endpoint, const Frame& name, std::uint32_t block);
  bool publish(Endpoint& endpoint, const Frame& name, const Probe& probe);
  void skip_finished_targets();

  Descriptor descriptor_{};
  Buffers buffers_{};
  int rank_ = 0, ranks_ = 1;
  std::uint64_t block_bytes_ = 1;
  bool begun_ = false;
  std::vector<Piece> inbox_;

  std::uint64_t scatter_round_ = 0, scatter_rounds_ = 0;  // piece index
  int scatter_step_ = 1;                                  // target is rank + step
  std::vector<std::uint32_t> inputs_;                     // [piece · ranks + from]: block + 1, or a mark of a copy
  std::vector<std::uint32_t> inputs_count_;               // [piece]
  std::unordered_map<std::uint64_t, std::vector<std::byte>> kept_;  // copies of inputs, by the same index
  std::uint64_t combined_ = 0, to_combine_ = 0;                     // pieces
  std::uint64_t published_ = 0, to_publish_ = 0;                    // pieces
  std::uint64_t taken_bytes_ = 0, to_take_bytes_ = 0;
};

}  // namespace orrery::elastic
