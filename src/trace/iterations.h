#pragma once
// Where the iterations of a trace are.
//
// The rules, the first that applies:
//   1. steps      every `ProfilerStep#N` range on the host is one iteration
//   2. optimizer  an iteration ends with every `Optimizer.step` range (nested ones count as one); at least two of them
//   3. period     the names of the device's work (without any: of the top-level operators) in order of their start
//                 repeat: the period is the median distance between occurrences of the rarest name that occurs twice
//                 or more, and at least 90 % of all names equal the name one period later. An iteration begins where
//                 the idle time before it, summed over all periods, is longest.
//   4. whole      everything is one iteration
//
// Rules 1 and 2 cut the host's time; the device runs behind it. An iteration's time on the device begins when the
// first work starts that was launched in its host range, and ends where the next begins; the last one ends with the end
// of the last work launched in it. In a trace without a device, the same with operators for launched work, and the last
// one ends with its host range.

#include <string>
#include <vector>

#include "trace/event_log.h"
#include "trace/intervals.h"
#include "trace/work.h"

namespace orrery::trace {

struct Iteration {
  std::string name;  // "ProfilerStep#5", or its number from 1
  Interval host;     // as marked; without markers the same as `window`
  Interval window;   // on the device; windows follow each other without overlap
};

enum class IterationRule { kSteps, kOptimizer, kPeriod, kWhole };
std::string_view to_string(IterationRule rule);

struct Iterations {
  IterationRule rule = IterationRule::kWhole;
  bool on_device = false;
  std::vector<Iteration> list;  // empty only if there is no work at all
};

Iterations find_iterations(const EventLog& log, const Work& work);

}  // namespace orrery::trace
