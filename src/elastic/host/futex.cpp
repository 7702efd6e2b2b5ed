#include "elastic/host/futex.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"

namespace orrery::elastic {

namespace {

timespec to_timespec(Seconds time) {
  const double whole = std::floor(time.value());
  return {static_cast<time_t>(whole), static_cast<long>((time.value() - whole) * 1e9)};
}

timespec monotonic_after(Seconds timeout) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const timespec wait = to_timespec(timeout);
  timespec end = {now.tv_sec + wait.tv_sec, now.tv_nsec + wait.tv_nsec};
  if (end.tv_nsec >= 1'000'000'000) {
    end.tv_sec += 1;
    end.tv_nsec -= 1'000'000'000;
  }
  return end;
}

}  // namespace

void futex_wait_any(std::span<const FutexWait> waits, Seconds timeout) {
  ORRERY_CHECK(!waits.empty() && waits.size() <= kFutexWaitsMax);
  std::array<futex_waitv, kFutexWaitsMax> words{};
  for (std::size_t i = 0; i < waits.size(); ++i) {
    words[i].uaddr = reinterpret_cast<std::uintptr_t>(waits[i].word);
    words[i].val = waits[i].seen;
    words[i].flags = FUTEX_32;
  }
  const timespec end = monotonic_after(timeout);
  if (::syscall(SYS_futex_waitv, words.data(), waits.size(), 0, &end, CLOCK_MONOTONIC) >= 0 || errno != ENOSYS) return;
  // Before Linux 5.16: sleeps on the first word, and checks the others often enough.
  const timespec wait = to_timespec(std::min(timeout, Seconds(0.001)));
  ::syscall(SYS_futex, waits[0].word, FUTEX_WAIT, waits[0].seen, &wait, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace orrery::elastic
