#pragma once
// Which jobs Muri lets run interleaved on the same GPUs (interleaving.h).
//
// Assumes: stages of jobs are known, or follow their utilisation of the GPU (interleaving.h).
// 1. The efficiency of a group is the mean over resources of the share of time for which they are in use. Two groups
//    may become one if that has at most kGroupMax jobs with memory for all, and does more work than the two by taking
//    turns: with r a job's rate, of running alone, sum of r in the new group > (sum in one + sum in the other) / 2.
// 2. In each round, by number of GPUs, groups are matched in pairs: the matching with the largest sum of efficiencies
//    (matching.h). With more than `exact_max` groups, jobs with the same stages counted once each, the pair with the
//    highest efficiency first, then the next (at least half of the best sum).
// 3. Of all these pairs the ones that leave fewest GPUs idle, (1 - efficiency) x GPUs, are joined first, and only while
//    groups need more GPUs than there are. Rounds end when all fit or no groups can be joined.
// Ties: the lower place in the list given. O(n^3) per round for up to `exact_max` groups, O(n log n) beyond.
// Source: Zhao et al., "Multi-Resource Interleaving for Deep Learning Training" (SIGCOMM 2022), section 4.2.

#include <span>
#include <vector>

#include "schedule/interleaving_table.h"

namespace orrery::schedule {

struct MuriOptions {
  std::size_t size_max = kGroupMax;
  std::size_t exact_max = 64;
};

// Jobs by their place in the list given, in rising order.
struct MuriGroup {
  std::vector<int> jobs{};
  int gpus = 0;
  double efficiency = 0;
};

class MuriGrouping {
 public:
  explicit MuriGrouping(const MuriOptions& options = {}) : options_(options) {}

  // By the lowest job of each; a job alone is a group of one.
  std::vector<MuriGroup> groups(std::span<const JobFacts> jobs, int gpus);

  // What is remembered of kinds of jobs (interleaving_table.h).
  bool has_many_kinds(std::size_t jobs) const { return table_.has_many_kinds(jobs); }
  void keep_kinds_of(std::span<const JobFacts> jobs) { table_.keep(jobs); }
  void exchange(StateArchive& state) { state(table_); }

 private:
  using Kinds = InterleavingTable::Kinds;
  struct Merge {
    std::size_t a = 0, b = 0;
    double idle_gpus = 0;
  };

  Kinds kinds_in(const std::vector<int>& jobs) const;
  double rates_of(const Kinds& kinds);
  // The efficiency of two groups together; 0 if they may not be joined.
  double efficiency_of(const Kinds& a, const Kinds& b);
  // Pairs of `places`, which are groups with the same number of GPUs.
  std::vector<Merge> pairs_of(const std::vector<MuriGroup>& groups, const std::vector<std::size_t>& places);
  std::vector<std::pair<std::size_t, std::size_t>> exact_pairs(const std::vector<Kinds>& kinds);
  std::vector<std::pair<std::size_t, std::size_t>> greedy_pairs(const std::vector<Kinds>& kinds);

  MuriOptions options_;
  InterleavingTable table_;
  Kinds kinds_;  // of the considered jobs, in their order
};

}  // namespace orrery::schedule
