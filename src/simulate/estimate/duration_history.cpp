#include "simulate/estimate/duration_history.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::simulate {

namespace {

constexpr std::size_t kPoints = 200;  // of a list of run times

}  // namespace

std::shared_ptr<const RunTimes> certain_run_time(double duration_s) {
  return std::make_shared<const RunTimes>(RunTimes{{duration_s}, {{duration_s}}, duration_s});
}

std::vector<double> likely_times(std::vector<double> ended, std::vector<double> running,
                                 std::span<const double> beyond) {
  ORRERY_CHECK(!ended.empty());
  std::sort(ended.begin(), ended.end());
  std::sort(running.begin(), running.end());
  std::vector<double> times;
  auto at_risk = static_cast<double>(ended.size() + running.size());
  double surviving = 1;
  auto next_running = running.begin();
  // The i-th point is the time that the share 1 - (i + 1/2) / kPoints survives.
  const auto wanted = [&] { return 1 - (static_cast<double>(times.size()) + 0.5) / kPoints; };
  for (const double time : ended) {
    for (; next_running != running.end() && *next_running < time; ++next_running) at_risk -= 1;
    surviving *= std::max(0.0, 1 - 1 / at_risk);
    at_risk -= 1;
    while (times.size() < kPoints && surviving <= wanted()) times.push_back(time);
  }
  const double longest = std::max(ended.back(), running.empty() ? 0 : running.back());
  const double share = std::min(1.0, surviving);
  while (times.size() < kPoints) {
    const double part = std::clamp(1 - wanted() / share, 0.0, 1.0);
    times.push_back(beyond.empty() ? longest * std::max(1.0, surviving / wanted())
                                   : longer_than(beyond, longest, part));
  }
  return times;
}

std::vector<DurationHistory::Likeness> DurationHistory::likenesses(const schedule::JobFacts& job) {
  return {{job.tenant, job.gpus, job.cpus, job.memory, job.gpu_memory_share},
          {.tenant = job.tenant, .gpus = job.gpus},
          {.gpus = job.gpus},
          {}};
}

template <class Change>
void DurationHistory::change(const schedule::JobFacts& job, Change change) {
  for (const Likeness& likeness : likenesses(job)) {
    Kind& kind = kinds_[likeness];
    change(kind);
    kind.times.reset();
  }
}

void DurationHistory::add(const schedule::JobFacts& job, double duration_s) {
  change(job, [&](Kind& kind) {
    kind.ended.push_back({job.submit_ns, duration_s, false});
    if (kind.ended.size() <= kKept) return;
    kind.ended.pop_front();
    kind.has_forgotten = true;
  });
}

void DurationHistory::add_running(const schedule::JobFacts& job, double elapsed_s) {
  change(job, [&](Kind& kind) { kind.running.push_back({job.submit_ns, elapsed_s, true}); });
}

// Those of the time of which all that ended are remembered, in the order of submission.
std::vector<DurationHistory::Past> DurationHistory::remembered(const Kind& kind) {
  std::vector<Past> past(kind.ended.begin(), kind.ended.end());
  schedule::TimeNs since_ns = past.front().submit_ns;
  for (const Past& one : past) since_ns = std::min(since_ns, one.submit_ns);
  for (const Past& one : kind.running) {
    if (!kind.has_forgotten || one.submit_ns >= since_ns) past.push_back(one);
  }
  std::stable_sort(past.begin(), past.end(), [](const Past& a, const Past& b) { return a.submit_ns < b.submit_ns; });
  return past;
}

std::vector<double> DurationHistory::likely_of(std::span<const Past> past, std::span<const double> beyond) {
  std::vector<double> ended, running;
  for (const Past& one : past) (one.runs ? running : ended).push_back(one.time_s);
  return likely_times(std::move(ended), std::move(running), beyond);
}

std::shared_ptr<const RunTimes> DurationHistory::times_of(const Kind& kind) {
  if (kind.times != nullptr) return kind.times;
  RunTimes times;
  const std::vector<Past> past = remembered(kind);
  times.all = likely_of(past, {});
  for (const Past& one : kind.ended) times.mean_s += one.time_s / static_cast<double>(kind.ended.size());
  const std::size_t periods = std::clamp<std::size_t>(kind.ended.size() / kAlikeMin, 1, kPeriods);
  // Equally many ended jobs in each; a running job is with those submitted before it.
  std::size_t begin = 0, ended = 0;
  for (std::size_t i = 0; i < past.size(); ++i) {
    ended += past[i].runs ? 0 : 1;
    const bool is_last = times.periods.size() + 1 == periods;
    const std::size_t enough = (times.periods.size() + 1) * kind.ended.size() / periods;
    if (i + 1 < past.size() && (is_last || ended < enough || past[i + 1].runs)) continue;
    times.periods.push_back(likely_of(std::span(past).subspan(begin, i + 1 - begin), times.all));
    begin = i + 1;
  }
  kind.times = std::make_shared<const RunTimes>(std::move(times));
  return kind.times;
}

const DurationHistory::Kind& DurationHistory::closest(const schedule::JobFacts& job, std::size_t level) const {
  const std::vector<Likeness> all = likenesses(job);
  for (; level + 1 < all.size(); ++level) {
    const auto kind = kinds_.find(all[level]);
    if (kind != kinds_.end() && kind->second.ended.size() >= kAlikeMin) return kind->second;
  }
  return kinds_.at({});
}

std::shared_ptr<const RunTimes> DurationHistory::alike(const schedule::JobFacts& job) const {
  ORRERY_CHECK(!empty());
  return times_of(closest(job, 0));
}

double DurationHistory::mean_s(const schedule::JobFacts& job) const {
  ORRERY_CHECK(!empty());
  return times_of(closest(job, 1))->mean_s;
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
