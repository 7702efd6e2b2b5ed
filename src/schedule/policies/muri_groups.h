#pragma once
// Muri (SIGCOMM'22): jobs whose iterations use different resources one after the other are interleaved on the same
// GPUs.
//
// An iteration of job j takes t[j][r] on resource r (storage, processors, GPU, network), one after the other. In a
// group, jobs are one resource apart: in phase i the j-th job uses resource (i + j) mod R, and a phase lasts as long as
// its longest part: T = sum over i of max over j of t[j][(i + j) mod R]. Jobs in another order give another T; the
// least counts. The efficiency of a group is the mean over resources of (sum over j of t[j][r]) / T: 1 if nobody ever
// waits.
// 1. Pairs are chosen by the matching with the largest sum of efficiencies (matching.h), among pairs that do more work
//    together than by taking turns: sum of iteration times alone > T.
// 2. Groups are matched again until they have `size_max` jobs or no two of them are worth it.
// O(n^3) per level. Source: Zhao et al., "Multi-Resource Interleaving for Deep Learning Training" (SIGCOMM 2022),
// section 4.

#include <vector>

namespace orrery::schedule {

using StageTimes = std::vector<double>;  // by resource, of one iteration

// T of the best order, and that order.
struct Interleaving {
  double period_s = 0;
  std::vector<int> order{};
};

// Precondition: as many resources in each, at most 8 jobs, at most as many jobs as resources.
Interleaving interleave(const std::vector<StageTimes>& jobs);

double efficiency(const std::vector<StageTimes>& jobs, double period_s);

// Groups of jobs, each in its best order; jobs alone are groups of one. By the lowest job of each.
std::vector<std::vector<int>> muri_groups(const std::vector<StageTimes>& jobs, int size_max);

}  // namespace orrery::schedule
