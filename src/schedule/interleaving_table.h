#pragma once
// Remembers the iteration times of groups, by the kinds of jobs in them: there are few kinds, so a lookup is cheap.
//
// Jobs share GPUs only if their memory fits together. A job with profiled stages is assumed to fit, as Muri's authors
// do; other jobs declare the share of a GPU's memory that they need.

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schedule/interleaving.h"
#include "schedule/state_archive.h"

namespace orrery::schedule {

class InterleavingTable {
 public:
  using Kind = int;
  using Kinds = std::vector<Kind>;  // of the jobs in a group, in rising order

  Kind kind_of(const JobFacts& facts);
  // Kinds have their numbers in the order in which they came, and groups are computed in the order of the numbers, so
  // the numbers are kept also of kinds that no job has any more, as long as these are few.
  bool has_many_kinds(std::size_t jobs) const { return stages_.size() > 2 * jobs + kFewKinds; }
  // Forgets all kinds but those of `jobs`, which keep their order.
  void keep(std::span<const JobFacts> jobs);
  // The kinds; what is remembered of groups is computed again.
  void exchange(StateArchive& state);

  bool has(Kind kind) const { return kind >= 0 && static_cast<std::size_t>(kind) < stages_.size(); }
  const StageTimes& stages(Kind kind) const { return stages_[static_cast<std::size_t>(kind)]; }

  // At most kGroupMax of them, and memory for all.
  bool fit(const Kinds& kinds) const;
  // The iteration time of all together. Precondition: not empty, and they fit.
  double iteration_s(const Kinds& kinds) { return iteration_s(group_of(kinds)); }
  // Groups by a number, for callers that try many: a group of one kind alone, and a group with one more; kNone if they
  // do not fit.
  using Group = int;
  static constexpr Group kNone = -1;
  Group alone(Kind kind);
  Group with(Group group, Kind kind);
  const Kinds& kinds(Group group) const { return groups_[static_cast<std::size_t>(group)].kinds; }
  double iteration_s(Group group) const { return groups_[static_cast<std::size_t>(group)].iteration_s; }
  // The share of time for which their resources are in use, over all four.
  double efficiency(const Kinds& kinds);
  // The share of its speed that one of them keeps.
  double share(Kind kind, const Kinds& kinds) { return stages(kind).iteration_s / iteration_s(kinds); }

 private:
  struct Known {
    Kinds kinds;
    double iteration_s = 0;
    std::vector<Group> next{};  // with one more, by its kind; kUnknown: not computed yet
  };
  static constexpr Group kUnknown = -2;
  static constexpr std::size_t kFewKinds = 32;
  using Content = std::pair<StageTimes, double>;  // with the share of memory
  static Content content_of(const JobFacts& facts);
  Kind kind_of(const Content& content);
  Group group_of(const Kinds& kinds);
  std::vector<StageTimes> stages_of_all(const Kinds& kinds) const;

  std::map<Content, Kind> kinds_;
  std::vector<StageTimes> stages_;  // by kind
  std::vector<double> memory_;      // by kind
  std::map<Kinds, Group> numbers_;
  std::vector<Known> groups_;
};

// The kinds of two groups together.
InterleavingTable::Kinds joined(const InterleavingTable::Kinds& a, const InterleavingTable::Kinds& b);

}  // namespace orrery::schedule
