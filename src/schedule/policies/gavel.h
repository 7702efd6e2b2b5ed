#pragma once
// Gavel (OSDI'20): every job gets a share of time on each type of GPU, computed for the whole cluster at once; rounds
// carry the shares out.
//
// Assumes: gangs that stay on one type during a round; speeds on every type and predicted work; suspension at the end
// of a round is cheap.
// 1. When jobs came or left, and the shares are at least 1920 s old, they are computed anew by the goal
//    (gavel_shares.h), for the `jobs_max` oldest jobs. Where types do not differ there is one.
// 2. Every round (360 s) the jobs to run are chosen by share / time received (gavel_rounds.h). Jobs that came since the
//    shares were computed, and those beyond `jobs_max`, use what is left.
// 3. A job that was chosen for the type it runs on keeps its GPUs; others are suspended, moved or started.
// 4. With packing, pairs of jobs with as many GPUs whose memory fits and that do more work together than by taking
//    turns are units too. One starts, the other shares its GPUs.
// A job that must not be suspended yet keeps its GPUs, outside of the choice.
// Ties: as in gavel_rounds.h. O(jobs^2) per computation at worst (linear programs), O(jobs log jobs) per round.
// Source: Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies" (OSDI 2020).

#include <functional>
#include <memory>
#include <string>

#include "schedule/placement/placer.h"
#include "schedule/policies/gavel_shares.h"
#include "schedule/policy.h"

namespace orrery::schedule {

enum class GavelGoal { kMaxMin, kFinishTime, kMakespan, kThroughput, kIsolated };

struct GavelOptions {
  std::string name = "gavel";
  GavelGoal goal = GavelGoal::kMaxMin;
  double round_s = 360;
  double reset_s = 1920;
  std::size_t jobs_max = 400;
  std::vector<double> price{};  // by type, of kThroughput; empty: all the same
  // Packing: the share of its speed that the first keeps when it shares GPUs with the second. Empty: no jobs share.
  std::function<double(const ClusterView&, JobIndex, JobIndex)> packed_share{};
  std::size_t packed_jobs_max = 60;  // the oldest; pairs are as many squared
};

std::unique_ptr<Policy> make_gavel(const GavelOptions& options, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
