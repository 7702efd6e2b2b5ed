#include "schedule/policies/muri_groups.h"

#include <algorithm>
#include <map>

#include "schedule/matching.h"

namespace orrery::schedule {

namespace {

constexpr double kWeightScale = 1e9;  // efficiencies as whole numbers

int gpus_of(const std::vector<MuriGroup>& groups) {
  int gpus = 0;
  for (const MuriGroup& group : groups) gpus += group.gpus;
  return gpus;
}

}  // namespace

MuriGrouping::Kinds MuriGrouping::kinds_in(const std::vector<int>& jobs) const {
  Kinds kinds;
  for (const int job : jobs) kinds.push_back(kinds_[static_cast<std::size_t>(job)]);
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

double MuriGrouping::rates_of(const Kinds& kinds) {
  double sum = 0;
  for (const InterleavingTable::Kind kind : kinds) sum += table_.share(kind, kinds);
  return sum;
}

double MuriGrouping::efficiency_of(const Kinds& a, const Kinds& b) {
  const Kinds both = joined(a, b);
  if (both.size() > options_.size_max || !table_.fit(both)) return 0;
  return rates_of(both) > (rates_of(a) + rates_of(b)) / 2 ? table_.efficiency(both) : 0;
}

std::vector<std::pair<std::size_t, std::size_t>> MuriGrouping::exact_pairs(const std::vector<Kinds>& kinds) {
  std::vector<std::vector<std::int64_t>> weights(kinds.size(), std::vector<std::int64_t>(kinds.size(), 0));
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    for (std::size_t b = a + 1; b < kinds.size(); ++b) {
      weights[a][b] = weights[b][a] = static_cast<std::int64_t>(kWeightScale * efficiency_of(kinds[a], kinds[b]));
    }
  }
  const Matching matching = best_matching(weights);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    const int b = matching.partner[a];
    if (b > static_cast<int>(a)) pairs.emplace_back(a, static_cast<std::size_t>(b));
  }
  return pairs;
}

std::vector<std::pair<std::size_t, std::size_t>> MuriGrouping::greedy_pairs(const std::vector<Kinds>& kinds) {
  std::map<Kinds, std::vector<std::size_t>> left;  // the last is the first to be taken
  for (std::size_t i = kinds.size(); i-- > 0;) left[kinds[i]].push_back(i);
  struct Edge {
    double efficiency = 0;
    std::vector<std::size_t>*a = nullptr, *b = nullptr;
  };
  std::vector<Edge> edges;
  for (auto a = left.begin(); a != left.end(); ++a) {
    for (auto b = a; b != left.end(); ++b) {
      const double efficiency = efficiency_of(a->first, b->first);
      if (efficiency > 0) edges.push_back({efficiency, &a->second, &b->second});
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& x, const Edge& y) { return x.efficiency > y.efficiency; });
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const Edge& edge : edges) {
    while (!edge.b->empty() && edge.a->size() > (edge.a == edge.b ? 1U : 0U)) {
      const std::size_t a = edge.a->back();
      edge.a->pop_back();
      const std::size_t b = edge.b->back();
      edge.b->pop_back();
      pairs.emplace_back(std::min(a, b), std::max(a, b));
    }
  }
  return pairs;
}

std::vector<MuriGrouping::Merge> MuriGrouping::pairs_of(const std::vector<MuriGroup>& groups,
                                                        const std::vector<std::size_t>& places) {
  std::vector<Kinds> kinds;
  for (const std::size_t place : places) kinds.push_back(kinds_in(groups[place].jobs));
  std::vector<Merge> merges;
  for (const auto& [a, b] : places.size() <= options_.exact_max ? exact_pairs(kinds) : greedy_pairs(kinds)) {
    const double efficiency = efficiency_of(kinds[a], kinds[b]);
    merges.push_back({places[a], places[b], (1 - efficiency) * groups[places[a]].gpus});
  }
  return merges;
}

std::vector<MuriGroup> MuriGrouping::groups(std::span<const JobFacts> jobs, int gpus) {
  kinds_.clear();
  std::vector<MuriGroup> groups;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    kinds_.push_back(table_.kind_of(jobs[j]));
    groups.push_back({{static_cast<int>(j)}, jobs[j].gpus, 0});
  }
  int needed = gpus_of(groups);
  while (needed > gpus) {
    std::map<int, std::vector<std::size_t>> by_gpus;
    for (std::size_t g = 0; g < groups.size(); ++g) by_gpus[groups[g].gpus].push_back(g);
    std::vector<Merge> merges;
    for (const auto& [size, places] : by_gpus) {
      const std::vector<Merge> found = pairs_of(groups, places);
      merges.insert(merges.end(), found.begin(), found.end());
    }
    if (merges.empty()) break;
    std::stable_sort(merges.begin(), merges.end(),
                     [](const Merge& x, const Merge& y) { return x.idle_gpus < y.idle_gpus; });
    for (const Merge& merge : merges) {
      if (needed <= gpus) break;
      groups[merge.a].jobs = joined(groups[merge.a].jobs, groups[merge.b].jobs);
      needed -= groups[merge.b].gpus;
      groups[merge.b].jobs.clear();
    }
    std::erase_if(groups, [](const MuriGroup& group) { return group.jobs.empty(); });
  }
  for (MuriGroup& group : groups) group.efficiency = table_.efficiency(kinds_in(group.jobs));
  std::sort(groups.begin(), groups.end(), [](const MuriGroup& a, const MuriGroup& b) { return a.jobs < b.jobs; });
  return groups;
}

}  // namespace orrery::schedule
