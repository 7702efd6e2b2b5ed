#pragma once
// How workers that join get the model: from all that have it, each a slice, through the session of the membership.
//
// At once, while everybody waits; or piece by piece between the steps of those who go on (a learner join). The second
// needs a model whose steps are element by element: with `lanes` = L, the state is L arrays of equal length
// (parameters, momenta, …), and what `commit` makes of an element depends on the same element of those arrays, on the
// results of the step and on its number only. Then a piece that was copied before a step is right after it as well, if
// the receiver lets the same results take effect, whatever the rest of its arrays holds meanwhile.
//
//   1. One piece before each step takes effect, until all are copied.
//   2. In the same way, one piece per step is compared by digests: who declared too much learns it here.
//   3. The model is there.
//
// So the longest wait between two steps is that for a piece. The first source chooses its size: as large as can be had
// in a tenth of a step, or in a millisecond if that is longer. Positions survive a change of membership: a piece that
// is there stays right.

#include <span>
#include <vector>

#include "base/units.h"
#include "elastic/collectives/collectives.h"

namespace orrery::elastic {

// How large the next piece should be, after one of `bytes` took `piece` within a step that took `step` in all.
std::uint64_t next_piece_bytes(std::uint64_t bytes, Seconds piece, Seconds step);

class ModelTransfer {
 public:
  // What a receiver has so far: bytes of each lane that are copied, then of those that are compared.
  using Position = std::uint64_t;

  // Called by all ranks of a membership with workers that have no model. `lanes` = 0: nothing is known about steps.
  // kInvalidArgument if ranks have models of different sizes or lanes.
  static Result<ModelTransfer> begin(Collectives& session, std::span<std::byte> state, std::uint64_t lanes,
                                     std::vector<bool> has_model, Position position);

  // While nobody steps: all that is missing.
  Status move_all(Collectives& session);
  // Before a step takes effect. `step` is the time since the last one. On a receiver whose copy turns out to differ:
  // kInvalidArgument.
  Status move_piece(Collectives& session, Seconds step);

  bool is_complete() const { return position_ >= 2 * lane_bytes_; }
  Position position() const { return position_; }
  bool has_model(int rank) const { return is_complete() || has_model_[static_cast<std::size_t>(rank)]; }

 private:
  ModelTransfer(std::span<std::byte> state, std::uint64_t lanes, std::vector<bool> has_model, Position position);
  std::span<std::byte> part(std::uint64_t lane, std::uint64_t begin, std::uint64_t end) const;
  Status copy(Collectives& session, std::uint64_t begin, std::uint64_t end);
  Status compare(Collectives& session, std::uint64_t begin, std::uint64_t end);

  std::span<std::byte> state_;
  std::uint64_t lanes_, lane_bytes_;
  std::vector<bool> has_model_;  // at the beginning, by rank
  std::vector<int> sources_;
  Position position_;
  std::uint64_t piece_bytes_;  // of each lane
};

}  // namespace orrery::elastic
