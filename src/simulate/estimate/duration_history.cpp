#include "simulate/estimate/duration_history.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace orrery::simulate {

namespace {

constexpr std::size_t kPoints = 200;  // of a list of run times

}  // namespace

std::shared_ptr<const RunTimes> certain_run_time(double duration_s) {
  return std::make_shared<const RunTimes>(RunTimes{{duration_s}, {{duration_s}}, duration_s});
}

std::vector<double> likely_times(std::vector<double> ended, std::span<const double> running, double weight) {
  ORRERY_CHECK(!ended.empty());
  std::sort(ended.begin(), ended.end());
  std::vector<double> censored(running.begin(), running.end());
  std::sort(censored.begin(), censored.end());
  std::vector<double> times;
  double at_risk = static_cast<double>(ended.size()) + weight * static_cast<double>(censored.size());
  double surviving = 1;
  auto next_censored = censored.begin();
  // The i-th point is the time that the share 1 - (i + 1/2) / kPoints survives.
  const auto wanted = [&] { return 1 - (static_cast<double>(times.size()) + 0.5) / kPoints; };
  for (const double time : ended) {
    for (; next_censored != censored.end() && *next_censored < time; ++next_censored) at_risk -= weight;
    surviving *= std::max(0.0, 1 - 1 / at_risk);
    at_risk -= 1;
    while (times.size() < kPoints && surviving <= wanted()) times.push_back(time);
  }
  const double longest = std::max(ended.back(), censored.empty() ? 0 : censored.back());
  while (times.size() < kPoints) times.push_back(longest * std::max(1.0, surviving / wanted()));
  return times;
}

template <class Change>
void DurationHistory::change(const schedule::JobFacts& job, Change change) {
  for (Kind* const kind : {&by_tenant_and_gpus_[{job.tenant, job.gpus}], &by_gpus_[job.gpus], &all_}) {
    change(*kind);
    kind->times.reset();
  }
}

void DurationHistory::add(const schedule::JobFacts& job, double duration_s) {
  change(job, [&](Kind& kind) {
    kind.ended.push_back(duration_s);
    ++kind.ended_ever;
    if (kind.ended.size() > kKept) kind.ended.pop_front();
  });
}

void DurationHistory::add_running(const schedule::JobFacts& job, double elapsed_s) {
  change(job, [&](Kind& kind) { kind.running.push_back(elapsed_s); });
}

std::shared_ptr<const RunTimes> DurationHistory::times_of(const Kind& kind) {
  if (kind.times != nullptr) return kind.times;
  RunTimes times;
  const std::vector<double> ended(kind.ended.begin(), kind.ended.end());
  // Those that run are left from all who ever started, of which only a part is remembered.
  const double weight = static_cast<double>(ended.size()) / kind.ended_ever;
  times.all = likely_times(ended, kind.running, weight);
  times.mean_s = std::accumulate(ended.begin(), ended.end(), 0.0) / static_cast<double>(ended.size());
  const std::size_t stretches = std::clamp<std::size_t>(ended.size() / kAlikeMin, 1, kStretches);
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = ended.begin() + static_cast<std::ptrdiff_t>(i * ended.size() / stretches);
    const auto end = ended.begin() + static_cast<std::ptrdiff_t>((i + 1) * ended.size() / stretches);
    times.stretches.push_back(likely_times({begin, end}, kind.running, weight / static_cast<double>(stretches)));
  }
  kind.times = std::make_shared<const RunTimes>(std::move(times));
  return kind.times;
}

std::shared_ptr<const RunTimes> DurationHistory::alike(const schedule::JobFacts& job) const {
  ORRERY_CHECK(!empty());
  const auto closest = by_tenant_and_gpus_.find({job.tenant, job.gpus});
  if (closest != by_tenant_and_gpus_.end() && closest->second.ended.size() >= kAlikeMin)
    return times_of(closest->second);
  const auto close = by_gpus_.find(job.gpus);
  if (close != by_gpus_.end() && close->second.ended.size() >= kAlikeMin) return times_of(close->second);
  return times_of(all_);
}

double longer_than(std::span<const double> sorted, double elapsed_s, double u) {
  const auto first = std::upper_bound(sorted.begin(), sorted.end(), elapsed_s);
  if (first == sorted.end()) return std::max(elapsed_s, sorted.back()) / (1 - u);
  const auto count = static_cast<double>(sorted.end() - first);
  const double place = u * count;
  const auto at = static_cast<std::ptrdiff_t>(place);
  // From the elapsed time to the first, then from one to the next, evenly in logarithms.
  const double low = at == 0 ? std::max(elapsed_s, first[0] / 2) : first[at - 1], high = first[at];
  return low * std::pow(high / low, place - static_cast<double>(at));
}

}  // namespace orrery::simulate
