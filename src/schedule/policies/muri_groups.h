#pragma once
// Which jobs Muri lets run interleaved on the same GPUs (interleaving.h).
//
// Assumes: all jobs given hold the same number of GPUs, or come in lists by it; their stages are known.
// 1. The efficiency of a group is the mean over resources of the share of time for which they are in use. Two groups
//    may become one if that has at most kGroupMax jobs and does more work than the two by taking turns: with r a job's
//    rate, of running alone, sum of r in the new group > (sum in one + sum in the other) / 2.
// 2. In each round, by number of GPUs, groups are matched in pairs: the matching with the largest sum of efficiencies
//    (matching.h). With more than `exact_max` groups, jobs with the same stages counted once each, the pair with the
//    highest efficiency first, then the next (at least half of the best sum).
// 3. Of all these pairs the ones that leave fewest GPUs idle, (1 - efficiency) x GPUs, are joined first, and only while
//    groups need more GPUs than there are. Rounds end when all fit or nobody can be joined.
// Ties: the lower place in the list given. O(n^3) per round for up to `exact_max` groups, O(n log n) beyond.
// Source: Zhao et al., "Multi-Resource Interleaving for Deep Learning Training" (SIGCOMM 2022), section 4.2.

#include <map>
#include <span>
#include <vector>

#include "schedule/stage_times.h"

namespace orrery::schedule {

struct MuriOptions {
  std::size_t size_max = kGroupMax;
  std::size_t exact_max = 64;
};

struct MuriJob {
  StageTimes stages{};
  int gpus = 1;
};

// Jobs by their place in the list given, in rising order.
struct MuriGroup {
  std::vector<int> jobs{};
  int gpus = 0;
  double efficiency = 0;
};

// Remembers what it has found out about stages, of which few kinds exist.
class MuriGrouping {
 public:
  explicit MuriGrouping(const MuriOptions& options = {}) : options_(options) {}

  // By the lowest job of each; a job alone is a group of one.
  std::vector<MuriGroup> groups(std::span<const MuriJob> jobs, int gpus);

 private:
  using Kinds = std::vector<int>;  // of the jobs in a group, in rising order
  struct Fit {
    double rates = 1;  // sum, of running alone
    double efficiency = 0;
  };
  struct Merge {
    std::size_t a = 0, b = 0;
    double idle_gpus = 0;
  };

  int kind_of(const StageTimes& stages);
  Kinds kinds_in(const std::vector<int>& jobs) const;
  const Fit& fit_of(const Kinds& kinds);
  // The efficiency of two groups together; 0 if they may not be joined.
  double joined(const Kinds& a, const Kinds& b);
  // Pairs of `places`, which are groups with the same number of GPUs.
  std::vector<Merge> pairs_of(const std::vector<MuriGroup>& groups, const std::vector<std::size_t>& places);
  std::vector<std::pair<std::size_t, std::size_t>> exact_pairs(const std::vector<Kinds>& kinds);
  std::vector<std::pair<std::size_t, std::size_t>> greedy_pairs(const std::vector<Kinds>& kinds);

  MuriOptions options_;
  std::map<StageTimes, int> known_;
  std::vector<StageTimes> stages_;  // by kind
  std::map<Kinds, Fit> fits_;
  std::vector<int> kinds_;  // of the jobs looked at
};

}  // namespace orrery::schedule
