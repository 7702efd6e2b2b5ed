#include "schedule/interleaving.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {

namespace {

constexpr std::size_t kPhases = kGroupMax;

using Phases = std::array<double, kPhases>;

// The longest path once around, by steps of one phase or of two.
double longest_round(const Phases& one, const Phases& two) {
  double longest = std::max({one[0] + one[1] + one[2] + one[3], two[0] + two[2], two[1] + two[3]});
  for (std::size_t p = 0; p < kPhases; ++p) {
    longest = std::max(longest, two[p] + one[(p + 2) % kPhases] + one[(p + 3) % kPhases]);
  }
  return longest;
}

double round_s(std::span<const StageTimes> jobs, std::span<const std::size_t> places) {
  Phases one{}, two{};
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const StageTimes& job = jobs[j];
    const std::array<double, kPhases> stages = {job.storage_s, job.processors_s, job.gpu_s, job.network_s};
    for (std::size_t r = 0; r < kPhases; ++r) {
      double& phase = one[(r + kPhases - places[j]) % kPhases];
      phase = std::max(phase, stages[r]);
    }
    double& both = two[(kPhases - places[j]) % kPhases];
    both = std::max(both, job.load_s);
  }
  return longest_round(one, two);
}

}  // namespace

double interleaved_stages_s(std::span<const StageTimes> jobs) {
  ORRERY_CHECK(!jobs.empty() && jobs.size() <= kGroupMax);
  std::array<std::size_t, kGroupMax> places = {0, 1, 2, 3};
  double best = -1;
  do {
    const double found = round_s(jobs, std::span(places).first(jobs.size()));
    if (best < 0 || found < best) best = found;
    // The first job can stay first: rotating the ring changes nothing.
  } while (std::next_permutation(places.begin() + 1, places.end()));
  return best;
}

double interleaved_iteration_s(std::span<const StageTimes> jobs) {
  if (jobs.size() == 1) return jobs.front().iteration_s;
  double period_s = kContention[jobs.size()] * interleaved_stages_s(jobs);
  for (const StageTimes& job : jobs) period_s = std::max(period_s, job.iteration_s);
  return period_s;
}

double interleaving_efficiency(std::span<const StageTimes> jobs, double period_s) {
  double used_s = 0;
  for (const StageTimes& job : jobs) used_s += sum_s(job);
  return used_s / static_cast<double>(kPhases) / period_s;
}

StageTimes stages_of(const JobFacts& facts) {
  if (facts.stages != nullptr) return *facts.stages;
  return {.load_s = 1 - facts.gpu_utilisation, .gpu_s = facts.gpu_utilisation, .iteration_s = 1};
}

}  // namespace orrery::schedule
