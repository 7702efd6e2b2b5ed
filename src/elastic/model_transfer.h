#pragma once
// How joining workers get the model: from all workers that have it, one slice from each, through the session of the
// membership.
//
// Either at once, while all workers wait; or piece by piece between the steps of the workers that continue (a learner
// join). The second needs a model whose steps are element by element: with `lanes` = L, the state is L arrays of equal
// length (parameters, momenta, …), and the new value that `commit` gives an element depends only on the same element of
// those arrays, on the results of the step and on its number. Then a piece that was copied before a step is right after
// it as well, if the receiver applies the same results, whatever the rest of its arrays holds meanwhile.
//
//   1. One piece is copied before each step takes effect, until all are copied.
//   2. In the same way, one piece per step is compared by digests: this detects programs that declare `lanes` wrongly.
//   3. The learner has the model.
//
// So the longest wait between two steps is that for a piece. The first source chooses its size: as large as can be
// copied in a tenth of a step, or in a millisecond if that is longer. Positions survive a membership change: a copied
// piece stays right.

#include <span>
#include <vector>

#include "base/units.h"
#include "elastic/collectives/collectives.h"
#include "env/clock.h"

namespace orrery::elastic {

// The size of the next piece, after one of `bytes` took `piece` within a step that took `step` in all.
std::uint64_t next_piece_bytes(std::uint64_t bytes, Seconds piece, Seconds step);

class ModelTransfer {
 public:
  // What a receiver has so far: bytes of each lane that are copied, then of those that are compared.
  using Position = std::uint64_t;

  // Called by all ranks of a membership with workers that have no model. `lanes` = 0: nothing is known about steps.
  // kInvalidArgument if ranks have models of different sizes or lanes.
  static Result<ModelTransfer> begin(Collectives& session, std::span<std::byte> state, std::uint64_t lanes,
                                     std::vector<bool> has_model, Position position);

  // While no worker steps: copies all that is missing.
  Status move_all(Collectives& session);
  // Called before a step takes effect. `step` is the time since the last one. kInvalidArgument on a receiver whose copy
  // turns out to differ.
  Status move_piece(const env::Clock& clock, Collectives& session, Seconds step);

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
