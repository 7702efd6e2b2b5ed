#pragma once
// An estimate of a wait from the pace of the queue. Simulations know which jobs run and wait, and for how long such
// jobs ran; they do not know what jobs of these days have in common. The queue shows that.
//
// - drain: the time it took until now to start jobs with as many GPUs as the waiting jobs ask for, the new one included
// - last: the wait of the job that started last
// With w = log(60 s + wait), the estimate is the mean of simulation, drain and last, weighted by 1 / (e + 0.05)^2,
// where e is how far each was off on average in the last kRemembered cases that have happened; before there are
// kCasesMin of them all weigh the same. What is not known does not count.

#include <array>
#include <deque>
#include <optional>
#include <span>

#include "simulate/estimate/start_times.h"

namespace orrery::simulate {

struct Started {
  double at_s = 0;
  double waited_s = 0;
  int gpus = 1;
};

struct QueuePace {
  std::optional<double> drain_s{}, last_s{};
};

// `started` in the order of starts, all before `now_s`; `gpus` are asked for by the waiting jobs.
QueuePace pace_of(std::span<const Started> started, double now_s, int gpus);

class PaceMixer {
 public:
  static constexpr std::size_t kCasesMin = 10, kRemembered = 50;

  // A case that has happened.
  void learn(double simulated_s, const QueuePace& pace, double waited_s);
  // The interval of a simulation, moved to the common estimate of its middle. By how much a wait moves in logarithms
  // with the middle of the simulated ones, and where it is then.
  double shift(double simulated_middle_s, const QueuePace& pace) const;
  static double moved_s(double wait_s, double shift);
  Quantiles mixed(const Quantiles& simulated, const QueuePace& pace) const;

 private:
  static constexpr std::size_t kVoices = 3;
  // The error of each; no value if it had no estimate.
  using Misses = std::array<std::optional<double>, kVoices>;
  double weight(std::size_t voice) const;

  std::deque<Misses> misses_;
};

}  // namespace orrery::simulate
