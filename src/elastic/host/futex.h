#pragma once
// Sleeping on words of memory that processes share. The kernel compares and sleeps in one step, so a change between the
// check and the sleep is never missed.

#include <atomic>
#include <cstdint>
#include <span>

#include "base/units.h"

namespace orrery::elastic {

struct FutexWait {
  const std::uint32_t* word = nullptr;
  std::uint32_t seen = 0;  // sleep only while the word has this value
};

inline constexpr std::size_t kFutexWaitsMax = 128;

// Returns when one of the words is woken or no longer has the value seen, after `timeout`, or spuriously: the caller
// checks again. At most kFutexWaitsMax words.
void futex_wait_any(std::span<const FutexWait> waits, Seconds timeout);

// Wakes all processes that sleep on the word.
void futex_wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace orrery::elastic
