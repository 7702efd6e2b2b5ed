#include "env/real_clock.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace orrery::env {

namespace {

Seconds seconds_of(const timespec& time) {
  return Seconds(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
}

Seconds read_clock(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return seconds_of(time);
}

}  // namespace

Seconds RealClock::wall() const {
  return read_clock(CLOCK_REALTIME);
}

Seconds RealClock::monotonic() const {
  return read_clock(CLOCK_MONOTONIC);
}

std::optional<Seconds> RealClock::processor_time(std::int64_t process) const {
  // The number of a process clock keeps 29 bits of the process, so a larger number would name another process.
  constexpr std::int64_t kLargestProcess = 1 << 22;
  clockid_t id{};
  timespec time{};
  if (process <= 0 || process > kLargestProcess) return std::nullopt;
  if (clock_getcpuclockid(static_cast<pid_t>(process), &id) != 0 || clock_gettime(id, &time) != 0) return std::nullopt;
  return seconds_of(time);
}

void RealClock::sleep(Seconds duration) {
  if (!(duration > Seconds(0))) return;
  constexpr double kLongestSeconds = 1e9;  // keeps an infinite wait inside timespec
  const double end = monotonic().value() + std::min(duration.value(), kLongestSeconds);
  timespec until{};
  until.tv_sec = static_cast<time_t>(end);
  until.tv_nsec = static_cast<long>((end - static_cast<double>(until.tv_sec)) * 1e9);
  // An absolute end does not drift when signals interrupt the sleep.
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace orrery::env
