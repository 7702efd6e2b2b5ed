#pragma once
// How a resource of a training job alternates between bursts and idling, step after step: between two times that are
// both step boundaries, so that start-up is excluded.
//
// 1. Levels and pattern are those of trace/bursts.h.
// 2. Links are shared, so one burst may run at the full rate and at half of it. It lasts as long as the rate stays
//    above the idle level plus a tenth of the way to the burst level, and must reach the burst level at least once.
// 3. Senders make short pauses. A typical gap is one such that half of the time between runs is in gaps at least as
//    long; a gap below a quarter of it is a pause and belongs to the burst around it.
// 4. The sum is that of the samples over time. Bursts that the window cuts off do not count.
// 5. A machine that stops for longer than a pause breaks one burst in two; the median burst is a whole one all the
//    same.

#include "trace/bursts.h"

namespace orrery::profile {

struct Alternation {
  trace::BurstPattern pattern = trace::BurstPattern::kIdle;
  std::size_t count = 0;  // whole bursts
  Seconds burst;          // duration of the median one; 0 with one level only, like the next
  Seconds idle;           // of the median time between two
  double sum = 0;         // over the median burst: bytes, if the series is of bytes per second
  double amount =
      0;  // the mean level of a burst; with one level only: that level; without a whole burst: the burst level
};

// `full_scale` decides from which value on a single level counts as a burst (trace/bursts.h).
Result<Alternation> alternation(const trace::ResourceSeries& series, Seconds begin, Seconds end,
                                double full_scale = 100);

}  // namespace orrery::profile
