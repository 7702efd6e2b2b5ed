#pragma once
// Which algorithm is used for which operation: a table of the time of all-reduces by algorithm and size.
//
// Until something was measured, the table holds a model: 40 µs per step, 5 µs per message of a rank, 1 ns per byte of
// the busiest rank; steps, messages and bytes are counted on the schedules themselves. Session::measure() replaces it
// by times on which all ranks have agreed, and adds a tree that suits the measured links (best_tree.h). Between two
// sizes the time is interpolated, above the largest it is extrapolated. An operation gets the fastest algorithm that
// can do it; the all-reduce of an algorithm stands for its other collectives. Ties go to the one that comes first in
// Algorithm.
//
// Tensors above the largest size use the ring if it is at most a tenth slower, per byte of the busiest rank: there a
// rank receives from one neighbour only, so messages of several senders do not queue at its link, and no rank sends
// more than it must. Measurements of smaller tensors do not show this, because they fit into the buffers of a network.
//
// The choice is a function of table and descriptor, so ranks with the same table choose alike.

#include <array>
#include <optional>
#include <vector>

#include "elastic/net/algorithm.h"

namespace orrery::elastic::net {

class Choice {
 public:
  static constexpr std::array<std::uint64_t, 3> kSizes = {4 << 10, 64 << 10, 512 << 10};
  using Times = std::array<std::array<double, kAlgorithms>, kSizes.size()>;  // seconds; [size][algorithm]

  // Uses the model. Without `parents` there is no given tree.
  Choice(int ranks, std::uint64_t chunk_bytes, const std::vector<int>& parents = {});

  Algorithm pick(const Descriptor& descriptor) const;

  // The algorithms worth measuring at kSizes[size], fewest bytes first. Of the largest size, these are only those that
  // can be the fastest for tensors above it, where bytes decide; a given tree may use other links than the others, so
  // it always can. If it avoids slow links it comes first: it must not be left out for lack of time.
  std::vector<Algorithm> candidates(std::size_t size, bool has_slow_links = false) const;
  // Takes measured times; 0: not measured. These are estimated from the time per byte of what was measured at that
  // size, or, if nothing was, from the smaller sizes.
  void learn(const Times& measured);
  // Prefers one algorithm wherever it can do the operation.
  void prefer(std::optional<Algorithm> algorithm, int root_of_tree = 0);
  double seconds(Algorithm algorithm, std::uint64_t bytes) const;

 private:
  double continued(const Times& measured, std::size_t size, std::size_t algorithm) const;

  Times times_{}, bytes_{};  // bytes: of the busiest rank
  std::optional<Algorithm> preferred_{};
  int root_of_tree_ = 0;
};

}  // namespace orrery::elastic::net
