#include "profile/alternation.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/statistics.h"

namespace orrery::profile {

namespace {

// Samples [begin, end) of a series.
struct Run {
  std::size_t begin = 0, end = 0;
};

// Consecutive samples of at least `level`.
std::vector<Run> runs_above(const trace::ResourceSeries& series, double level) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (series.values[i] < level) continue;
    if (runs.empty() || runs.back().end < i) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

Seconds gap_between(const trace::ResourceSeries& series, const Run& first, const Run& second) {
  return series.times[second.begin] - series.times[first.end];
}

// Rule 3.
Seconds pause_max(const trace::ResourceSeries& series, const std::vector<Run>& runs) {
  constexpr double kPauseShare = 0.25;
  std::vector<Seconds> gaps;
  Seconds total(0);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    gaps.push_back(gap_between(series, runs[i - 1], runs[i]));
    total += gaps.back();
  }
  std::sort(gaps.begin(), gaps.end(), std::greater<>());
  Seconds sum(0);
  for (const Seconds gap : gaps) {
    sum += gap;
    if (sum >= total / 2) return gap * kPauseShare;
  }
  return Seconds(0);
}

std::vector<Run> join_over_pauses(const trace::ResourceSeries& series, const std::vector<Run>& runs) {
  const Seconds longest = pause_max(series, runs);
  std::vector<Run> joined;
  for (const Run& run : runs) {
    if (!joined.empty() && gap_between(series, joined.back(), run) < longest) {
      joined.back().end = run.end;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

// Rules 2 and 3.
std::vector<Run> bursts_of(const trace::ResourceSeries& series, const trace::Bursts& levels) {
  constexpr double kAboveIdle = 0.1;
  const double quiet = levels.idle_centre + kAboveIdle * (levels.burst_centre - levels.idle_centre);
  std::vector<Run> runs = join_over_pauses(series, runs_above(series, quiet));
  std::erase_if(runs, [&](const Run& run) {
    return std::none_of(series.values.begin() + static_cast<std::ptrdiff_t>(run.begin),
                        series.values.begin() + static_cast<std::ptrdiff_t>(run.end),
                        [&](double value) { return value >= levels.burst_smallest; });
  });
  return runs;
}

trace::ResourceSeries cut(const trace::ResourceSeries& series, Seconds begin, Seconds end) {
  trace::ResourceSeries window{series.name, series.unit, {}, {}};
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    if (series.times[i] < begin || series.times[i] >= end) continue;
    window.times.push_back(series.times[i]);
    window.values.push_back(series.values[i]);
  }
  return window;
}

// Over its time. The samples beside a burst hold its beginning and end, which did not fill their period.
double sum_over(const trace::ResourceSeries& series, const Run& run) {
  double sum = 0;
  for (std::size_t i = run.begin - 1; i <= run.end; ++i) {
    sum += series.values[i] * (series.times[i + 1] - series.times[i]).value();
  }
  return sum;
}

}  // namespace

Result<Alternation> alternation(const trace::ResourceSeries& series, Seconds begin, Seconds end, double full_scale) {
  const trace::ResourceSeries window = cut(series, begin, end);
  trace::BurstOptions options;
  options.trim = false;
  options.full_scale = full_scale;
  ORRERY_TRY(const trace::Bursts levels, trace::find_bursts(window, options));
  Alternation result;
  result.pattern = levels.pattern;
  if (levels.pattern != trace::BurstPattern::kAlternating) {
    result.amount = levels.pattern == trace::BurstPattern::kIdle ? levels.idle_centre : levels.burst_centre;
    return result;
  }
  std::vector<double> sums, bursts, idles;
  const std::vector<Run> runs = bursts_of(window, levels);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) idles.push_back(gap_between(window, runs[i - 1], runs[i]).value());
    if (runs[i].begin == 0 || runs[i].end + 1 >= window.values.size()) continue;
    sums.push_back(sum_over(window, runs[i]));
    bursts.push_back((window.times[runs[i].end] - window.times[runs[i].begin]).value());
  }
  result.count = bursts.size();
  if (!idles.empty()) result.idle = Seconds(median(idles));
  result.amount = levels.burst_centre;
  if (bursts.empty()) return result;
  result.burst = Seconds(median(bursts));
  result.sum = median(sums);
  result.amount = result.sum / result.burst.value();
  return result;
}

}  // namespace orrery::profile
