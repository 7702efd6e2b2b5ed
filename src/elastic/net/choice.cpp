#include "elastic/net/choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::elastic::net {

namespace {

constexpr double kSecondsPerStep = 40e-6, kSecondsPerMessage = 5e-6, kSecondsPerByte = 1e-9;
constexpr double kAsGood = 1.1;

// Without a value, the algorithm cannot be used.
std::optional<Cost> counted(Algorithm algorithm, int ranks, std::uint64_t chunk_bytes, const std::vector<int>& parents,
                            std::uint64_t bytes) {
  if (algorithm == Algorithm::kGivenTree && parents.empty()) return std::nullopt;
  const Plan plan = {{Collective::kAllReduce, DataType::kI8, ReduceOp::kSum, 0, bytes}, 0, ranks, chunk_bytes, parents};
  const auto cost = cost_of(algorithm, plan);
  return cost ? std::optional(*cost) : std::nullopt;
}

double bytes_of(const Cost& cost) {
  return static_cast<double>(std::max(cost.sent_bytes_max, cost.received_bytes_max));
}

double modelled(const Cost& cost, int ranks) {
  return kSecondsPerStep * cost.steps +
         kSecondsPerMessage * static_cast<double>(cost.messages) / static_cast<double>(ranks) +
         kSecondsPerByte * bytes_of(cost);
}

}  // namespace

Choice::Choice(int ranks, std::uint64_t chunk_bytes, const std::vector<int>& parents) {
  const auto root = std::find(parents.begin(), parents.end(), -1);
  root_of_tree_ = root == parents.end() ? 0 : static_cast<int>(root - parents.begin());
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    for (std::size_t which = 0; which < kAlgorithms; ++which) {
      const auto cost = counted(static_cast<Algorithm>(which), ranks, chunk_bytes, parents, kSizes[size]);
      times_[size][which] = cost ? modelled(*cost, ranks) : std::numeric_limits<double>::infinity();
      bytes_[size][which] = cost ? bytes_of(*cost) : 0;
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
  const bool is_beyond = descriptor.bytes() > kSizes.back() && can_do(Algorithm::kRing, descriptor.collective);
  if (!is_beyond) return best;
  const auto bytes_by = [this](Algorithm algorithm) { return bytes_.back()[static_cast<std::size_t>(algorithm)]; };
  const double more_bytes = std::max(1.0, bytes_by(best) / bytes_by(Algorithm::kRing));
  const bool ring_is_as_good = seconds(Algorithm::kRing, descriptor.bytes()) <= kAsGood * more_bytes * least;
  return ring_is_as_good ? Algorithm::kRing : best;
}

std::vector<Algorithm> Choice::candidates(std::size_t size, bool has_slow_links) const {
  // Between two algorithms that differ by less, noise decides.
  constexpr double kTooMany = 1.25;
  std::vector<std::size_t> found;
  double fewest = std::numeric_limits<double>::infinity();
  for (std::size_t which = 0; which < kAlgorithms; ++which) {
    if (std::isinf(times_[size][which])) continue;
    found.push_back(which);
    fewest = std::min(fewest, bytes_[size][which]);
  }
  if (size + 1 == kSizes.size()) {
    std::erase_if(found, [&](std::size_t which) {
      return bytes_[size][which] > kTooMany * fewest && static_cast<Algorithm>(which) != Algorithm::kGivenTree;
    });
  }
  const auto order = [&](std::size_t which) {
    const bool comes_first = has_slow_links && static_cast<Algorithm>(which) == Algorithm::kGivenTree;
    return std::pair(!comes_first, bytes_[size][which]);
  };
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
  std::vector<Algorithm> candidates;
  for (const std::size_t which : found) candidates.push_back(static_cast<Algorithm>(which));
  return candidates;
}

double Choice::continued(const Times& measured, std::size_t size, std::size_t which) const {
  if (size == 0) return times_[0][which];
  const double below = times_[size - 1][which];
  double per_byte = std::numeric_limits<double>::infinity();
  for (std::size_t other = 0; other < kAlgorithms; ++other) {
    // A given tree may use better links than the others.
    if (static_cast<Algorithm>(other) == Algorithm::kGivenTree) continue;
    if (measured[size][other] > 0) per_byte = std::min(per_byte, measured[size][other] / bytes_[size][other]);
  }
  if (!std::isinf(per_byte)) return std::max(below, per_byte * bytes_[size][which]);
  const double below_it = size > 1 ? times_[size - 2][which] : below;
  const double more_bytes = bytes_[size][which] - bytes_[size - 1][which];
  const double growth = size > 1 ? (below - below_it) / static_cast<double>(kSizes[size - 1] - kSizes[size - 2]) : 0;
  return below + std::max(growth * static_cast<double>(kSizes[size] - kSizes[size - 1]), kSecondsPerByte * more_bytes);
}

void Choice::learn(const Times& measured) {
  for (std::size_t size = 0; size < kSizes.size(); ++size) {
    for (std::size_t which = 0; which < kAlgorithms; ++which) {
      if (std::isinf(times_[size][which])) continue;
      times_[size][which] = measured[size][which] > 0 ? measured[size][which] : continued(measured, size, which);
    }
  }
}

void Choice::prefer(std::optional<Algorithm> algorithm, int root_of_tree) {
  preferred_ = algorithm;
  root_of_tree_ = root_of_tree;
}

}  // namespace orrery::elastic::net
