#pragma once
// Remembers how long iterations of groups are, by the kinds of jobs in them: few kinds exist, so looking up is cheap.
//
// Jobs share GPUs only if their memory fits together. Where a job was profiled so that its stages are known, it is
// assumed to, as Muri's authors do; others say what share of a GPU's memory they need.

#include <map>
#include <utility>
#include <vector>

#include "schedule/interleaving.h"

namespace orrery::schedule {

class InterleavingTable {
 public:
  using Kind = int;
  using Kinds = std::vector<Kind>;  // of the jobs in a group, in rising order

  Kind kind_of(const JobFacts& facts);
  const StageTimes& stages(Kind kind) const { return stages_[static_cast<std::size_t>(kind)]; }

  // At most kGroupMax of them, and memory for all.
  bool fit(const Kinds& kinds) const;
  // Of all together. Precondition: not empty, and they fit.
  double iteration_s(const Kinds& kinds) { return iteration_s(group_of(kinds)); }
  // Groups by a number, for those who try many: one of a kind alone, and one more beside them; kNone if they do not
  // fit.
  using Group = int;
  static constexpr Group kNone = -1;
  Group alone(Kind kind);
  Group with(Group group, Kind kind);
  const Kinds& kinds(Group group) const { return groups_[static_cast<std::size_t>(group)].kinds; }
  double iteration_s(Group group) const { return groups_[static_cast<std::size_t>(group)].iteration_s; }
  // The share of time for which their resources are in use, over all four.
  double efficiency(const Kinds& kinds);
  // What is left of the speed of one of them.
  double share(Kind kind, const Kinds& kinds) { return stages(kind).iteration_s / iteration_s(kinds); }

 private:
  struct Known {
    Kinds kinds;
    double iteration_s = 0;
    std::vector<Group> next{};  // with one more, by its kind; kUnknown: not asked yet
  };
  static constexpr Group kUnknown = -2;
  Group group_of(const Kinds& kinds);
  std::vector<StageTimes> stages_of_all(const Kinds& kinds) const;

  std::map<std::pair<StageTimes, double>, Kind> kinds_;  // with the share of memory
  std::vector<StageTimes> stages_;                       // by kind
  std::vector<double> memory_;                           // by kind
  std::map<Kinds, Group> numbers_;
  std::vector<Known> groups_;
};

// The kinds of two groups together.
InterleavingTable::Kinds joined(const InterleavingTable::Kinds& a, const InterleavingTable::Kinds& b);

}  // namespace orrery::schedule
