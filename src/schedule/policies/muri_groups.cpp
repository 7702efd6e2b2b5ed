#include "schedule/policies/muri_groups.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "schedule/matching.h"

namespace orrery::schedule {

namespace {

constexpr double kWeightScale = 1e9;  // efficiencies as whole numbers

double period(const std::vector<StageTimes>& jobs, const std::vector<int>& order) {
  const std::size_t resources = jobs.front().size();
  double sum = 0;
  for (std::size_t phase = 0; phase < resources; ++phase) {
    double longest = 0;
    for (std::size_t j = 0; j < order.size(); ++j) {
      longest = std::max(longest, jobs[static_cast<std::size_t>(order[j])][(phase + j) % resources]);
    }
    sum += longest;
  }
  return sum;
}

double alone_s(const StageTimes& job) {
  return std::accumulate(job.begin(), job.end(), 0.0);
}

std::vector<StageTimes> times_of(const std::vector<StageTimes>& jobs, const std::vector<int>& group) {
  std::vector<StageTimes> times;
  for (const int job : group) times.push_back(jobs[static_cast<std::size_t>(job)]);
  return times;
}

}  // namespace

Interleaving interleave(const std::vector<StageTimes>& jobs) {
  ORRERY_CHECK(!jobs.empty() && jobs.size() <= 8 && jobs.size() <= jobs.front().size());
  std::vector<int> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  Interleaving best;
  do {
    const double found = period(jobs, order);
    if (best.order.empty() || found < best.period_s) best = {found, order};
    // The first job can stay first: turning the ring changes nothing.
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return best;
}

double efficiency(const std::vector<StageTimes>& jobs, double period_s) {
  double sum = 0;
  for (const StageTimes& job : jobs) sum += alone_s(job);
  return sum / static_cast<double>(jobs.front().size()) / period_s;
}

std::vector<std::vector<int>> muri_groups(const std::vector<StageTimes>& jobs, int size_max) {
  std::vector<std::vector<int>> groups;
  for (std::size_t j = 0; j < jobs.size(); ++j) groups.push_back({static_cast<int>(j)});
  while (groups.size() > 1) {
    std::vector<std::vector<std::int64_t>> weights(groups.size(), std::vector<std::int64_t>(groups.size(), 0));
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (std::size_t b = a + 1; b < groups.size(); ++b) {
        std::vector<int> both = groups[a];
        both.insert(both.end(), groups[b].begin(), groups[b].end());
        const auto resources = jobs.front().size();
        if (static_cast<int>(both.size()) > size_max || both.size() > resources) continue;
        const std::vector<StageTimes> times = times_of(jobs, both);
        const double together = interleave(times).period_s;
        const double turns =
            interleave(times_of(jobs, groups[a])).period_s + interleave(times_of(jobs, groups[b])).period_s;
        if (together >= turns) continue;
        weights[a][b] = weights[b][a] = static_cast<std::int64_t>(kWeightScale * efficiency(times, together));
      }
    }
    const Matching matching = best_matching(weights);
    if (matching.weight == 0) break;
    std::vector<std::vector<int>> merged;
    for (std::size_t a = 0; a < groups.size(); ++a) {
      const int b = matching.partner[a];
      if (b >= 0 && b < static_cast<int>(a)) continue;
      std::vector<int> both = groups[a];
      if (b >= 0)
        both.insert(both.end(), groups[static_cast<std::size_t>(b)].begin(), groups[static_cast<std::size_t>(b)].end());
      const Interleaving best = interleave(times_of(jobs, both));
      std::vector<int>& group = merged.emplace_back();
      for (const int place : best.order) group.push_back(both[static_cast<std::size_t>(place)]);
    }
    groups = std::move(merged);
  }
  return groups;
}

}  // namespace orrery::schedule
