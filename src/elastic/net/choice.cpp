#include "elastic/net/choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::elastic::net {

namespace {

constexpr double kSecondsPerStep = 40e-6, kSecondsPerMessage = 5e-6, kSecondsPerByte = 1e-9;

double modelled(Algorithm algorithm, int ranks, std::uint64_t chunk_bytes, const std::vector<int>& parents,
                std::uint64_t bytes) {
  if (algorithm == Algorithm::kGivenTree && parents.empty()) return std::numeric_limits<double>::infinity();
  const Plan plan = {{Collective::kAllReduce, DataType::kI8, ReduceOp::kSum, 0, bytes}, 0, ranks, chunk_bytes, parents};
  const auto cost = cost_of(algorithm, plan);
  if (!cost) return std::numeric_limits<double>::infinity();
  return kSecondsPerStep * cost->steps +
         kSecondsPerMessage * static_cast<double>(cost->messages) / static_cast<double>(ranks) +
         kSecondsPerByte * static_cast<double>(std::max(cost->sent_bytes_max, cost->received_bytes_max));
}

}  // namespace

Choice::Choice(int ranks, std::uint64_t chunk_bytes, const std::vector<int>& parents) {
  const auto root = std::find(parents.begin(), parents.end(), -1);
  root_of_tree_ = root == parents.end() ? 0 : static_cast<int>(root - parents.begin());
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    for (int algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
      const auto which = static_cast<Algorithm>(algorithm);
      times_[size][static_cast<std::size_t>(algorithm)] = modelled(which, ranks, chunk_bytes, parents, kSizes[size]);
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
    if (!can_do(which, descriptor.collective)) continue;
    if (which == Algorithm::kGivenTree && rooted && descriptor.root != root_of_tree_) continue;
    const double time = seconds(which, descriptor.bytes());
    if (time >= least) continue;
    least = time;
    best = which;
  }
  return best;
}

void Choice::learn(const Times& measured, std::size_t sizes) {
  if (sizes == 0) return;
  const Times model = times_;
  const std::size_t last = sizes - 1;
  for (std::size_t which = 0; which < kAlgorithms; ++which) {
    if (std::isinf(model[0][which])) continue;
    double per_byte = 0;
    if (last > 0) {
      per_byte =
          (measured[last][which] - measured[last - 1][which]) / static_cast<double>(kSizes[last] - kSizes[last - 1]);
    }
    for (std::size_t size = 0; size < kSizes.size(); ++size) {
      const double more = size <= last ? 0 : per_byte * static_cast<double>(kSizes[size] - kSizes[last]);
      times_[size][which] = size <= last
                                ? measured[size][which]
                                : measured[last][which] + std::max(more, model[size][which] - model[last][which]);
    }
  }
}

void Choice::prefer(std::optional<Algorithm> algorithm, int root_of_tree) {
  preferred_ = algorithm;
  root_of_tree_ = root_of_tree;
}

}  // namespace orrery::elastic::net
