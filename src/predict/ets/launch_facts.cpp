#include "predict/ets/launch_facts.h"

#include <algorithm>

namespace orrery::predict {

namespace {

constexpr double kMargin = 30;         // microseconds that leave no doubt
constexpr int kKernelsNearFull = 900;  // in the queue: the host may have waited

// At a synchronisation: whether the device was still at work when the host came to it.
bool waits_for_device(const LaunchTrace& trace, const std::vector<LaunchFacts>& facts, std::size_t row) {
  if (row == 0) return true;
  const double host_came = facts[row - 1].launched + trace.times[row - 1].launch;
  return facts[row - 1].started + trace.times[row - 1].device > host_came + 2 * kMargin;
}

}  // namespace

std::vector<LaunchFacts> launch_facts(const LaunchContext& context) {
  const LaunchTrace& trace = context.trace();
  const std::size_t count = trace.operators.size();
  std::vector<LaunchFacts> facts(count);
  double launched = 0, started = trace.first_start;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) launched += trace.times[i].interval;
    facts[i].launched = launched;
    facts[i].started = started;
    started += trace.times[i].device + trace.times[i].gap;
  }
  std::size_t running = 0;  // the operator the device is at when the host launches operator i
  int kernels_between = 0;
  for (std::size_t i = 0; i < count; ++i) {
    while (running < i && facts[running].started < facts[i].launched) {
      kernels_between -= trace.operators[running].kernels;
      ++running;
    }
    const bool queue_has_room = kernels_between < kKernelsNearFull;
    const bool could_wait = context.synchronises(i) && waits_for_device(trace, facts, i);
    facts[i].host_is_free = i > 0 && queue_has_room && !could_wait;
    if (i + 1 < count) {
      facts[i].device_is_full = facts[i].started + trace.times[i].device > facts[i + 1].launched + kMargin;
    }
    kernels_between += trace.operators[i].kernels;
  }
  return facts;
}

}  // namespace orrery::predict
