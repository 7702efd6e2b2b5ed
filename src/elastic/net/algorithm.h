#pragma once
// The algorithms by name, and which collectives each can do.

#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

enum class Algorithm : std::uint8_t {
  kExchange,
  kClique,
  kRing,
  kHalvingDoubling,
  kBinaryTree,
  kDoubleTree,
  kStar,
  kGivenTree,
};
inline constexpr int kAlgorithms = 8;
std::string_view to_string(Algorithm algorithm);

// Whether an algorithm can do a collective. A barrier needs none; a consensus is an all-gather of digests.
bool can_do(Algorithm algorithm, Collective collective);
// The schedule of one rank. Precondition: can_do().
void make_schedule(Algorithm algorithm, const Plan& plan, Schedule& schedule);
// The cost of the schedules of all ranks.
Result<Cost> cost_of(Algorithm algorithm, Plan plan);

}  // namespace orrery::elastic::net
