#pragma once
// The parts of the time of a step. Collective operations end when the last rank has reached them:
//
//   wait_i     = max compute - compute_i           until the slowest rank has computed
//   transfer_i = communication_i - wait_i          the rest; at least 0
//
// Ranks start a step together, because the step before ended with a barrier.

#include <span>
#include <vector>

namespace orrery::elastic {

// As a rank measures them: until it starts its operations, and from there to their end.
struct RankTime {
  double compute_s = 0, communication_s = 0;
};

struct StepTime {
  double compute_s = 0, wait_s = 0, transfer_s = 0;
};

std::vector<StepTime> split_step(std::span<const RankTime> by_rank);

// The slowest rank's compute time over the median of all: 1 if none lags behind. 1 without ranks.
double straggler_index(std::span<const RankTime> by_rank);

}  // namespace orrery::elastic
