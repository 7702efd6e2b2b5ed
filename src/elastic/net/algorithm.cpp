#include "elastic/net/algorithm.h"

#include "base/check.h"
#include "elastic/net/algorithms/clique.h"
#include "elastic/net/algorithms/exchange.h"
#include "elastic/net/algorithms/halving_doubling.h"
#include "elastic/net/algorithms/ring.h"
#include "elastic/net/algorithms/trees.h"

namespace orrery::elastic::net {

std::string_view to_string(Algorithm algorithm) {
  constexpr std::string_view kNames[kAlgorithms] = {"exchange",    "clique",      "ring", "halving-doubling",
                                                    "binary tree", "double tree", "star", "given tree"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

bool can_do(Algorithm algorithm, Collective collective) {
  switch (algorithm) {
    case Algorithm::kExchange:
    case Algorithm::kHalvingDoubling:
      return collective == Collective::kAllReduce;
    case Algorithm::kClique:
      return reduces(collective) || collective == Collective::kAllGather || collective == Collective::kGather;
    case Algorithm::kRing:
      return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
             collective == Collective::kAllGather;
    case Algorithm::kBinaryTree:
    case Algorithm::kDoubleTree:
    case Algorithm::kStar:
    case Algorithm::kGivenTree:
      return collective == Collective::kAllReduce || collective == Collective::kReduce ||
             collective == Collective::kBroadcast;
  }
  return false;
}

void make_schedule(Algorithm algorithm, const Plan& plan, Schedule& schedule) {
  ORRERY_CHECK(can_do(algorithm, plan.descriptor.collective));
  schedule.clear();
  switch (algorithm) {
    case Algorithm::kExchange:
      return exchange(plan, schedule);
    case Algorithm::kClique:
      return clique(plan, schedule);
    case Algorithm::kRing:
      return ring(plan, schedule);
    case Algorithm::kHalvingDoubling:
      return halving_doubling(plan, schedule);
    case Algorithm::kBinaryTree:
      return binary_tree(plan, schedule);
    case Algorithm::kDoubleTree:
      return double_tree(plan, schedule);
    case Algorithm::kStar:
      return star(plan, schedule);
    case Algorithm::kGivenTree:
      return given_tree(plan, schedule);
  }
}

Result<Cost> cost_of(Algorithm algorithm, Plan plan) {
  std::vector<Schedule> schedules(static_cast<std::size_t>(plan.ranks));
  for (plan.rank = 0; plan.rank < plan.ranks; ++plan.rank) {
    make_schedule(algorithm, plan, schedules[static_cast<std::size_t>(plan.rank)]);
  }
  return cost_of(schedules);
}

}  // namespace orrery::elastic::net
