#include "elastic/monitor/interference.h"

#include <algorithm>

namespace orrery::elastic {

void Interference::add(std::uint64_t step, double exchange_s, double step_s, double workers_now, double topology_now) {
  if (workers_now != workers) *this = {.workers = workers_now, .topology = topology_now, .topology_step = step};
  if (topology_now != topology) {
    exchange = {.decay = exchange.decay};
    whole_step = {.decay = whole_step.decay};
    topology = topology_now;
    topology_step = step;
  }
  exchange.add(exchange_s);
  whole_step.add(step_s);
  if (exchange.weight < kSettled) return;
  const double mean = *exchange.value();
  reference_s = reference_s > 0 ? std::min(reference_s, mean) : mean;
}

std::optional<double> Interference::index() const {
  if (reference_s <= 0 || exchange.weight < kSettled) return std::nullopt;
  return *exchange.value() / reference_s;
}

std::optional<double> Interference::slowdown() const {
  if (!index()) return std::nullopt;
  const double now = *whole_step.value();
  const double undisturbed = now - (*exchange.value() - reference_s);
  // The exchange is a part of the step; a measurement that contradicts this is ignored.
  return undisturbed > 0 ? std::optional(now / undisturbed) : std::nullopt;
}

}  // namespace orrery::elastic
