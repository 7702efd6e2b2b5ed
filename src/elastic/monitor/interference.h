#pragma once
// Whether something else uses the network: the time of exchanges now, divided by their time when nothing disturbed
// them, and its effect on the step time.
//
// The exchange of a step begins when the last rank has computed, and ends when the last one has the result: the longest
// transfer of step_time.h. The reference is the least running mean so far, and is forgotten when the workers change. A
// remeasured topology keeps it, so that what it regains shows.
//
// It consists of plain numbers, so that it can be sent to joining workers.

#include <cstdint>
#include <optional>

#include "elastic/monitor/ema.h"

namespace orrery::elastic {

struct Interference {
  static constexpr double kSettled = 4.4;  // a mean counts from this weight on, that of ten steps

  Ema exchange{.decay = 0.8}, whole_step{.decay = 0.8};
  double reference_s = 0;  // 0: not known
  double workers = 0, topology = 0;
  std::uint64_t topology_step = 0;  // at which it was changed last

  // `step_s`: the time of the step that contained the exchange.
  void add(std::uint64_t step, double exchange_s, double step_s, double workers_now, double topology_now);
  // 1: as in the reference; 2: exchanges take twice as long. No value while it is not known.
  std::optional<double> index() const;
  // The factor by which steps are longer than if exchanges took as long as in the reference.
  std::optional<double> slowdown() const;
};

}  // namespace orrery::elastic
