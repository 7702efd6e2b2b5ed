#pragma once
// Whether something else uses the network: how long exchanges take now, over how long they took when they were left
// alone, and what that makes of a step.
//
// The exchange of a step begins when the last rank has computed, and ends when the last one has the result: the longest
// transfer of step_time.h. The reference is the least running mean so far, and is forgotten when the workers change. A
// remeasured topology keeps it: what it regains shows.
//
// Plain numbers, so that it can be handed to workers that join.

#include <cstdint>
#include <optional>

#include "elastic/monitor/ema.h"

namespace orrery::elastic {

struct Interference {
  static constexpr double kSettled = 4.4;  // weight of a mean of ten steps, which counts

  Ema exchange{.decay = 0.8}, whole_step{.decay = 0.8};
  double reference_s = 0;  // 0: not known
  double workers = 0, topology = 0;
  std::uint64_t topology_step = 0;  // at which it was changed last

  // `step_s`: of the step that the exchange was in.
  void add(std::uint64_t step, double exchange_s, double step_s, double workers_now, double topology_now);
  // 1: as ever; 2: exchanges take twice as long. Nothing as long as it is not known.
  std::optional<double> index() const;
  // Steps take so many times what they would if exchanges took as long as ever.
  std::optional<double> slowdown() const;
};

}  // namespace orrery::elastic
