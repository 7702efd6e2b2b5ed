#include "elastic/net/choice.h"

#include <algorithm>
#include <limits>

namespace orrery::elastic::net {

namespace {

constexpr double kSecondsPerStep = 40e-6, kSecondsPerMessage = 5e-6, kSecondsPerByte = 1e-9;

double modelled(Algorithm algorithm, int ranks, std::uint64_t chunk_bytes, std::uint64_t bytes) {
  const Plan plan = {{Collective::kAllReduce, DataType::kI8, ReduceOp::kSum, 0, bytes}, 0, ranks, chunk_bytes, {}};
  const auto cost = cost_of(algorithm, plan);
  if (!cost) return std::numeric_limits<double>::infinity();
  return kSecondsPerStep * cost->steps +
         kSecondsPerMessage * static_cast<double>(cost->messages) / static_cast<double>(ranks) +
         kSecondsPerByte * static_cast<double>(std::max(cost->sent_bytes_max, cost->received_bytes_max));
}

}  // namespace

Choice::Choice(int ranks, std::uint64_t chunk_bytes) {
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
      const auto which = static_cast<Algorithm>(algorithm);
      times_[size][static_cast<std::size_t>(algorithm)] = which == Algorithm::kGivenTree
                                                              ? std::numeric_limits<double>::infinity()
                                                              : modelled(which, ranks, chunk_bytes, kSizes[size]);
    }
  }
}

double Choice::seconds(Algorithm algorithm, std::uint64_t bytes) const {
  const auto which = static_cast<std::size_t>(algorithm);
  if (bytes <= kSizes[0]) return times_[0][which];
  std::size_t above = 1;
  while (above + 1 < kSizes.size() && kSizes[above] < bytes) ++above;
  const double low = times_[above - 1][which], high = times_[above][which];
  const double slope = std::max(0.0, high - low) / static_cast<double>(kSizes[above] - kSizes[above - 1]);
  return low + slope * static_cast<double>(bytes - kSizes[above - 1]);
}

Algorithm Choice::pick(const Descriptor& descriptor) const {
  const bool rooted = has_root(descriptor.collective);
  if (preferred_ && can_do(*preferred_, descriptor.collective) &&
      !(*preferred_ == Algorithm::kGivenTree && rooted && descriptor.root != root_of_tree_)) {
    return *preferred_;
  }
  Algorithm best = Algorithm::kClique;
  double least = std::numeric_limits<double>::infinity();
  for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    const auto which = static_cast<Algorithm>(algorithm);
    if (which == Algorithm::kGivenTree || !can_do(which, descriptor.collective)) continue;
    const double time = seconds(which, descriptor.bytes());
    if (time >= least) continue;
    least = time;
    best = which;
  }
  return best;
}

void Choice::learn(const Times& measured, std::size_t sizes) {
  const Times model = times_;
  for (std::size_t size = 0; size < kSizes.size() && sizes > 0; ++size) {
    for (std::size_t which = 0; which < kAlgorithms; ++which) {
      if (static_cast<Algorithm>(which) == Algorithm::kGivenTree) continue;
      times_[size][which] = size < sizes ? measured[size][which]
                                         : measured[sizes - 1][which] + model[size][which] - model[sizes - 1][which];
    }
  }
}

void Choice::prefer(std::optional<Algorithm> algorithm, int root_of_tree) {
  preferred_ = algorithm;
  root_of_tree_ = root_of_tree;
}

}  // namespace orrery::elastic::net
