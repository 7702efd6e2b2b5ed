#include "profile/idle_check.h"

#include <algorithm>

#include "env/clock.h"
#include "env/files.h"
#include "profile/proc_text.h"

namespace orrery::profile {

namespace {

constexpr Seconds kMoment(0.15);
constexpr Seconds kPause(0.5);

template <class T>
T parsed(env::Files& files, const char* path, Result<T> (*parse)(std::string_view), T missing) {
  const auto text = files.read(path, mebibytes(1));
  if (!text) return missing;
  return parse(*text).value_or(missing);
}

}  // namespace

OtherProcesses::OtherProcesses(env::Env env) : env_(env), start_(now()) {}

OtherProcesses::Ticks OtherProcesses::now() const {
  const CpuTicks all = parsed(env_.files, "/proc/stat", parse_cpu, CpuTicks{});
  const double ours = parsed(env_.files, "/proc/self/stat", parse_process_ticks, 0.0);
  return {all.busy - ours, all.total, all.cores};
}

double OtherProcesses::cores() const {
  const Ticks end = now();
  const double elapsed = end.total - start_.total;
  return elapsed > 0 ? (end.others - start_.others) / elapsed * end.cores : 0;
}

bool wait_until_idle(env::Env env, Seconds wait_max) {
  const Seconds start = env.clock.monotonic();
  while (true) {
    const OtherProcesses others(env);
    env.clock.sleep(kMoment);
    if (others.cores() < kIdleCores) return true;
    if (env.clock.monotonic() - start > wait_max) return false;
    env.clock.sleep(kPause);
  }
}

MeasuringTime::MeasuringTime(env::Env env, Others others, Seconds time_max)
    : env_(env), others_(others), time_max_(time_max), start_(env.clock.monotonic()) {}

bool MeasuringTime::has_ended() const {
  return time_max_ > Seconds(0) && env_.clock.monotonic() - start_ >= time_max_;
}

Seconds MeasuringTime::idle_wait_max() const {
  if (others_ == Others::kIgnored) return Seconds(0);
  if (time_max_ <= Seconds(0)) return kIdleWaitMax;
  return std::clamp(time_max_ - (env_.clock.monotonic() - start_), Seconds(0), kIdleWaitMax);
}

bool MeasuringTime::may_begin() {
  if (has_ended()) return false;
  idle_ = wait_until_idle(env_, idle_wait_max());
  return !has_ended();
}

}  // namespace orrery::profile
