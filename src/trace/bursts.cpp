#include "trace/bursts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/statistics.h"

namespace orrery::trace {

namespace {

constexpr double kQuietShare = 0.01;
constexpr double kStartUpShare = 0.05;
constexpr double kRefreshShare = 0.75;

// Part of a series, without repeats.
struct Samples {
  std::vector<double> times, values;
};

// Consecutive samples in one state.
struct Run {
  bool burst = false;
  std::size_t first = 0;
};

Status check(const ResourceSeries& series) {
  if (series.times.size() != series.values.size() || series.times.empty()) {
    return Error::invalid("a series needs at least one sample, and a time for every value");
  }
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    if (!std::isfinite(series.times[i].value()) || !std::isfinite(series.values[i])) {
      return Error::invalid(fmt::format("sample {}: not a finite number", i + 1));
    }
    if (i > 0 && series.times[i] < series.times[i - 1]) {
      return Error::invalid(fmt::format("sample {}: earlier than the one before", i + 1));
    }
  }
  return {};
}

double quiet_limit(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low + kQuietShare * (*high - *low);
}

// Rule 1. A series that is quiet throughout stays whole.
std::pair<std::size_t, std::size_t> trimmed(const ResourceSeries& series) {
  const auto& values = series.values;
  const double limit = quiet_limit(values);
  const auto loud = [limit](double v) { return v > limit; };
  const auto first = std::find_if(values.begin(), values.end(), loud);
  if (first == values.end()) return {0, values.size() - 1};
  const auto last = std::find_if(values.rbegin(), values.rend(), loud).base() - 1;
  const double begin = series.times.front().value();
  const double length = series.times.back().value() - begin;
  auto start = first;
  for (auto at = first; at < last;) {
    const auto quiet = std::find_if_not(at, last, loud);
    const auto next = std::find_if(quiet, last + 1, loud);
    const double from = series.times[static_cast<std::size_t>(quiet - values.begin())].value();
    const double until = series.times[static_cast<std::size_t>(next - values.begin())].value();
    if (from - begin >= length / 2) break;
    if (quiet < next && until - from >= kStartUpShare * length) start = next;
    at = next == quiet ? last : next;
  }
  return {static_cast<std::size_t>(start - values.begin()), static_cast<std::size_t>(last - values.begin())};
}

double resolution_of(const Samples& samples) {
  std::vector<double> between;
  std::optional<double> changed;
  for (std::size_t i = 1; i < samples.values.size(); ++i) {
    if (samples.values[i] == samples.values[i - 1]) continue;
    if (changed) between.push_back(samples.times[i] - *changed);
    changed = samples.times[i];
  }
  return between.empty() ? 0 : median(between);
}

Samples without_repeats(const Samples& samples, double resolution) {
  Samples kept;
  for (std::size_t i = 0; i < samples.values.size(); ++i) {
    const bool repeats = i > 0 && samples.values[i] == samples.values[i - 1] &&
                         samples.times[i] - kept.times.back() < kRefreshShare * resolution;
    if (repeats) continue;
    kept.times.push_back(samples.times[i]);
    kept.values.push_back(samples.values[i]);
  }
  return kept;
}

std::vector<Run> runs_of(const std::vector<double>& values, double burst_smallest) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool burst = values[i] >= burst_smallest;
    if (runs.empty() || runs.back().burst != burst) runs.push_back({burst, i});
  }
  return runs;
}

// The mean length of the inner runs of one state; 0 if there are none.
Seconds mean_duration(const Samples& samples, const std::vector<Run>& runs, bool burst) {
  double total = 0;
  int count = 0;
  for (std::size_t i = 1; i + 1 < runs.size(); ++i) {
    if (runs[i].burst != burst) continue;
    total += samples.times[runs[i + 1].first] - samples.times[runs[i].first];
    ++count;
  }
  return Seconds(count > 0 ? total / count : 0);
}

void describe_one_level(const Samples& samples, const BurstOptions& options, Bursts& result) {
  double mean = 0;
  for (const double v : samples.values) mean += v / static_cast<double>(samples.values.size());
  const Seconds length(samples.times.back() - samples.times.front());
  const bool burst = mean >= options.full_scale / 2;
  result.pattern = burst ? BurstPattern::kBurst : BurstPattern::kIdle;
  (burst ? result.burst_centre : result.idle_centre) = mean;
  (burst ? result.burst_duration : result.idle_duration) = length;
  (burst ? result.bursts : result.idles) = 1;
}

void describe_two_levels(const Samples& samples, const TwoMeans& levels, Bursts& result) {
  result.pattern = BurstPattern::kAlternating;
  result.idle_centre = levels.low;
  result.burst_centre = levels.high;
  result.idle_largest = levels.low_largest;
  result.burst_smallest = levels.high_smallest;
  const std::vector<Run> runs = runs_of(samples.values, levels.high_smallest);
  for (const Run& run : runs) ++(run.burst ? result.bursts : result.idles);
  result.burst_duration = mean_duration(samples, runs, true);
  result.idle_duration = mean_duration(samples, runs, false);
  if (result.burst_duration > Seconds(0) && result.idle_duration > Seconds(0)) {
    result.cycle = result.burst_duration + result.idle_duration;
  }
}

bool is_one_level(const std::optional<TwoMeans>& levels, double share) {
  if (!levels) return true;
  return levels->high - levels->low < share * std::max(std::abs(levels->high), std::abs(levels->low));
}

}  // namespace

std::optional<TwoMeans> two_means(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty() || sorted.front() == sorted.back()) return std::nullopt;
  // Around the middle, so that squares of large values do not swallow the differences.
  const double origin = sorted[sorted.size() / 2];
  double sum = 0, squares = 0;
  for (const double v : sorted) {
    sum += v - origin;
    squares += (v - origin) * (v - origin);
  }
  std::optional<TwoMeans> best;
  double below = 0;
  for (std::size_t k = 1; k < sorted.size(); ++k) {
    below += sorted[k - 1] - origin;
    if (sorted[k - 1] == sorted[k]) continue;
    const auto low_count = static_cast<double>(k), high_count = static_cast<double>(sorted.size() - k);
    const double above = sum - below;
    const double within = squares - below * below / low_count - above * above / high_count;
    if (best && within >= best->within) continue;
    best = TwoMeans{origin + below / low_count,
                    origin + above / high_count,
                    sorted[k - 1],
                    sorted[k],
                    k,
                    sorted.size() - k,
                    within};
  }
  return best;
}

std::string_view to_string(BurstPattern pattern) {
  if (pattern == BurstPattern::kAlternating) return "BIB";
  return pattern == BurstPattern::kBurst ? "B" : "I";
}

Result<Bursts> find_bursts(const ResourceSeries& series, const BurstOptions& options) {
  ORRERY_TRY_VOID(check(series));
  Bursts result;
  result.last = series.values.size() - 1;
  if (options.trim) std::tie(result.first, result.last) = trimmed(series);
  Samples samples;
  for (std::size_t i = result.first; i <= result.last; ++i) {
    samples.times.push_back(series.times[i].value());
    samples.values.push_back(series.values[i]);
  }
  result.resolution = Seconds(resolution_of(samples));
  if (options.remove_repeats) samples = without_repeats(samples, result.resolution.value());
  result.samples = samples.values.size();
  const auto levels = two_means(samples.values);
  if (is_one_level(levels, options.one_level_share)) {
    describe_one_level(samples, options, result);
  } else {
    describe_two_levels(samples, *levels, result);
  }
  if (options.iteration && *options.iteration > Seconds(0) && result.cycle > Seconds(0)) {
    result.cycles_per_iteration = *options.iteration / result.cycle;
  }
  return result;
}

}  // namespace orrery::trace
