#pragma once
// An algorithm as data: for each part of a tensor, what a rank sends, takes and combines, in which order.
//
// A tensor is cut into parts, the same on all ranks. For each part a rank has a list of steps:
//
//   send p    the part as it is now goes to rank p
//   take p    the part as rank p has it is received and kept aside
//   fold      all taken parts are combined with our own, in the order of ranks (ours in its place)
//   copy p    the part as rank p has it replaces ours
//
// Steps of one part happen in their order, parts independently of each other: so it is a pipeline, in which part k is
// combined while part k+1 arrives. An algorithm is a pure function that makes the schedule of one rank (algorithms/);
// one executor runs them all (executor.h). Because steps and folds have an order, results do not depend on timing.
// Because a result is computed once and copied from there (or computed everywhere in the same order, by exchange), all
// ranks have the same bits.
//
// Costs can be counted: cost_of() gives what docs/reference/collectives.md has as formulas, and a test compares the
// two.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "elastic/collectives/descriptor.h"

namespace orrery::elastic::net {

enum class StepKind : std::uint8_t { kSend, kTake, kFold, kCopy };

struct Step {
  StepKind kind = StepKind::kSend;
  std::uint8_t peer = 0;  // not of a fold

  friend bool operator==(const Step&, const Step&) = default;
};

// The steps of one rank. Built part by part.
class Schedule {
 public:
  void clear();
  // Begins the next part: bytes of the tensor, or of the output of a gather.
  void begin_part(Range range);
  void send(int to) { add(StepKind::kSend, to); }
  void take(int from) { add(StepKind::kTake, from); }
  void fold() { add(StepKind::kFold, 0); }
  void copy(int from) { add(StepKind::kCopy, from); }

  std::uint32_t parts() const { return static_cast<std::uint32_t>(ranges_.size()); }
  Range range(std::uint32_t part) const { return ranges_[part]; }
  std::span<const Step> steps(std::uint32_t part) const;

 private:
  void add(StepKind kind, int peer) { steps_.push_back({kind, static_cast<std::uint8_t>(peer)}); }

  std::vector<Range> ranges_;
  std::vector<std::uint32_t> first_;  // step of each part
  std::vector<Step> steps_;
};

// The input of an algorithm.
struct Plan {
  Descriptor descriptor{};
  int rank = 0, ranks = 1;
  std::uint64_t chunk_bytes = 256 << 10;  // parts are at most this long
  std::span<const int> parents{};         // of a given tree, by rank; −1 for its root
};

// The longest part, in bytes: whole cache lines, at least one.
std::uint64_t part_bytes(const Plan& plan);
// Calls `begin(range)` for the pieces of `range`, each at most part_bytes(plan) long.
template <class Begin>
void for_each_piece(const Plan& plan, Range range, Begin begin) {
  const std::uint64_t step = part_bytes(plan);
  for (std::uint64_t at = range.begin; at < range.end; at += step) begin(Range{at, std::min(at + step, range.end)});
}

struct Cost {
  int steps = 0;                         // messages one after the other on the longest path
  std::uint64_t sent_bytes_max = 0;      // of the rank that sends most
  std::uint64_t received_bytes_max = 0;  // of the rank that receives most
  std::uint64_t messages = 0;            // in all

  friend bool operator==(const Cost&, const Cost&) = default;
};
// The cost of the schedules of all ranks, by rank; part by part. Steps are those of the part with the longest path.
// kInternal if they do not fit together: a message that no rank takes, or ranks that wait for each other.
Result<Cost> cost_of(std::span<const Schedule> schedules);

}  // namespace orrery::elastic::net
