#pragma once
// Makes a ResourceSeries from readings of one source.
//
//   kLevel      the value itself; every reading is fresh (memory)
//   kRefreshed  a value that the source renews at its own pace (NVML): a repeated reading has no information and is
//               removed, so a value that really stays the same has a longer step
//   kRate       a counter read live (bytes): (v − v') / (t − t'). An unchanged counter is a rate of 0, not a stale one
//   kShare      a counter that moves with another one, its base (CPU ticks): (v − v') / (b − b'). While the base stands
//               still the reading is stale and removed
//
// Like a level, a rate or share holds from its time to the next one: it has the time of the older of its two readings.
// A counter that goes back (a wrapped or restarted source) starts anew without a value. Times never go back.

#include <cstddef>
#include <optional>
#include <string>

#include "trace/resource_series.h"

namespace orrery::profile {

enum class ReadingKind { kLevel, kRefreshed, kRate, kShare };

class SeriesBuilder {
 public:
  // Holds at most `samples_max` values; what comes after is counted as dropped.
  SeriesBuilder(ReadingKind kind, std::string name, std::string unit, std::size_t samples_max);

  void add(Seconds time, double value, double base = 0);

  const trace::ResourceSeries& series() const { return series_; }
  std::size_t dropped() const { return dropped_; }

 private:
  struct Reading {
    Seconds time;
    double value, base;
  };
  void keep(Seconds time, double value);
  void add_counter(const Reading& reading, double difference_of_base);

  ReadingKind kind_;
  std::size_t samples_max_;
  std::size_t dropped_ = 0;
  std::optional<Reading> last_;
  trace::ResourceSeries series_;
};

// The median time between values: the resolution of the series. 0 with fewer than two.
Seconds resolution(const trace::ResourceSeries& series);
// Over time: each value counts as long as it holds, the last one for the resolution. 0 without values.
double mean(const trace::ResourceSeries& series);
double largest(const trace::ResourceSeries& series);

}  // namespace orrery::profile
