#pragma once
// Whether other processes work on this machine: their share of its cores disturbs measurements. Where /proc has no
// information, they count as idle.

#include "base/units.h"
#include "env/env.h"

namespace orrery::profile {

inline constexpr double kIdleCores = 0.15;  // others may use this much

// What a series of measurements does about other processes that use the machine.
enum class Others { kWaitedFor, kIgnored };

// Counts from its construction on.
class OtherProcesses {
 public:
  explicit OtherProcesses(env::Env env);
  // Cores they kept busy on average; NaN-free, 0 for an instant.
  double cores() const;

 private:
  struct Ticks {
    double others = 0;  // of all cores, without ours
    double total = 0;
    int cores = 0;
  };
  Ticks now() const;

  env::Env env_;
  Ticks start_;
};

inline constexpr Seconds kIdleWaitMax(600);  // then a measurement is made nevertheless

// Returns true when others used less than kIdleCores for a moment, and false if they did not within `wait_max`. With a
// wait_max of 0 it looks once.
bool wait_until_idle(env::Env env, Seconds wait_max);

// The time that a series of measurements may take, from the construction on; waiting for an idle machine counts.
class MeasuringTime {
 public:
  // `time_max` 0: no limit.
  MeasuringTime(env::Env env, Others others, Seconds time_max);

  // Waits for an idle machine unless others are ignored, then returns whether another measurement may begin.
  bool may_begin();
  bool ignores_others() const { return others_ == Others::kIgnored; }
  bool found_idle() const { return idle_; }  // by the last may_begin()
  Seconds idle_wait_max() const;             // what is left to wait; 0 if others are ignored

 private:
  bool has_ended() const;

  env::Env env_;
  Others others_;
  Seconds time_max_;
  Seconds start_;
  bool idle_ = true;
};

}  // namespace orrery::profile
