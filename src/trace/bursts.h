#pragma once
// Bursts: how the utilisation of a resource alternates between a high and a low level, as Driple describes training
// jobs (burst amount, burst duration, idle duration).
//
// 1. Trimming. A value is quiet if it is within 1 % of the range above the smallest. Quiet samples at both ends go;
//    so does everything before the end of the last quiet interval that begins in the first half and lasts at least 5 %
//    of the series: start-up, whose length would decide the result otherwise.
// 2. Levels. Exact two-means in one dimension: sort, prefix sums, the cut between two different values with the
//    smallest sum of squares within both sides; of equal ones the lowest. O(n log n), no seed. "Idle" is relative.
// 3. One level. If the centres differ by less than 5 % of the larger magnitude, there is one: burst if its mean is at
//    least half of the full scale, else idle. The duration of the missing state is 0.
// 4. Runs. A run lasts from its first sample to the first sample of the next run. The first and the last run are cut
//    off by the window, so they do not count in the mean durations. The cycle is mean burst + mean idle.
//
// Counters refresh more slowly than they are polled. The resolution is the median time between changes of the value;
// durations near it mean little. remove_repeats keeps one reading per refresh: a reading that equals the one before
// goes, unless three quarters of the resolution have passed since the last one kept.

#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "trace/resource_series.h"

namespace orrery::trace {

struct TwoMeans {
  double low = 0, high = 0;                   // the centres
  double low_largest = 0, high_smallest = 0;  // the values beside the cut
  std::size_t low_count = 0, high_count = 0;
  double within = 0;  // sum of squares around the centres
};

// Nothing if there are fewer than two different values. Precondition: all finite.
std::optional<TwoMeans> two_means(std::span<const double> values);

enum class BurstPattern { kIdle, kBurst, kAlternating };
std::string_view to_string(BurstPattern pattern);  // "I", "B", "BIB"

struct BurstOptions {
  bool trim = true;
  bool remove_repeats = false;
  double full_scale = 100;             // of the resource
  double one_level_share = 0.05;       // rule 3
  std::optional<Seconds> iteration{};  // to compare the cycle with
};

struct Bursts {
  BurstPattern pattern = BurstPattern::kIdle;
  std::size_t first = 0, last = 0;  // the samples that were looked at, both included
  std::size_t samples = 0;          // of them, repeats removed
  Seconds resolution;               // 0: the value never changes
  double idle_centre = 0;           // of a series with one level: its mean, in the state it is in
  double burst_centre = 0;          // the burst amount
  double idle_largest = 0, burst_smallest = 0;
  std::size_t bursts = 0, idles = 0;  // runs, cut-off ones included
  Seconds burst_duration, idle_duration, cycle;
  std::optional<double> cycles_per_iteration;  // 1: the bursts are the iterations
};

// An error if the series is empty, not in order or not finite.
Result<Bursts> find_bursts(const ResourceSeries& series, const BurstOptions& options = {});

}  // namespace orrery::trace
