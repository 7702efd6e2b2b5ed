#pragma once
// How long an iteration takes where jobs run interleaved on the same GPUs, each using another resource than the others.
//
// There are four phases and four places. In phase p the job in place s uses resource (p + s) mod 4 of storage,
// processors, GPU, network; reading and preparing data measured as one takes the two phases of both. A phase ends when
// its longest part does: with a[p] the longest stage of phase p, and b[p] the longest of those that take phases p and
// p + 1,
//   T = the longest path once around the phases, by steps of one phase (a[p]) or of two (b[p]).
// Without stages of two phases that is a[0] + a[1] + a[2] + a[3], the formula of the paper. The places with the least T
// count. On top of it come
// - contention: jobs in a group slow each other down by the factor kContention, which the authors measured,
// - the slowest: no job is faster than alone, so T is at least the longest iteration alone.
// All jobs of a group do one iteration in T.
// Source: Zhao et al., "Multi-Resource Interleaving for Deep Learning Training" (SIGCOMM 2022), section 4; the form
// with stages of two phases and the contention are those of its authors' simulator.

#include <array>
#include <span>

#include "schedule/cluster_view.h"

namespace orrery::schedule {

// By the number of jobs; 1.015 is what measuring a job alone leaves out.
inline constexpr std::array<double, kGroupMax + 1> kContention = {1, 1, 1.33 / 1.015, 1.5 / 1.015, 1.37 / 1.015};

// T of the best places, without contention and for the stages alone. Precondition: 1 to kGroupMax jobs.
double interleaved_stages_s(std::span<const StageTimes> jobs);

// T: the time of an iteration of all jobs. One job alone: its iteration.
double interleaved_iteration_s(std::span<const StageTimes> jobs);

// The mean over the four resources of the share of `period_s` for which some job uses them: 1 if none is ever idle.
double interleaving_efficiency(std::span<const StageTimes> jobs, double period_s);

// The stages of a job. Where they are not known, it uses the GPU for its utilisation of an iteration and loads data for
// the rest, and iterations of all such jobs are equally long.
StageTimes stages_of(const JobFacts& facts);

}  // namespace orrery::schedule
