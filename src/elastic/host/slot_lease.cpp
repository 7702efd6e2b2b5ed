#include "elastic/host/slot_lease.h"

#include <cerrno>
#include <cstddef>
#include <fmt/format.h>
#include <linux/futex.h>

#include "base/check.h"

namespace orrery::elastic {

namespace {

// The word of a mutex that the kernel reads: the holder's thread id and two flags. glibc has kept it at this place, as
// part of its binary interface, since it has had robust mutexes.
static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0);

std::uint32_t* life_word(SlotControl& control) {
  return reinterpret_cast<std::uint32_t*>(&control.life);
}

std::uint32_t load(SlotControl& control) {
  return __atomic_load_n(life_word(control), __ATOMIC_ACQUIRE);
}

}  // namespace

Result<std::unique_ptr<SlotLease>> SlotLease::take(std::shared_ptr<Segment> segment, int slot, std::uint64_t owner) {
  if (slot < 0 || slot >= segment->options().slots) {
    return Error::invalid(fmt::format("slot {} of {}", slot, segment->options().slots));
  }
  SlotControl& control = segment->control(slot);
  const int locked = ::pthread_mutex_trylock(&control.life);
  if (locked == EBUSY) return Error::unavailable(fmt::format("slot {} is taken by another process", slot));
  if (locked == EOWNERDEAD) {
    // A process that still waits for the previous owner must not take us for it.
    revoke(*segment, control.generation.exchange(0));
    ORRERY_CHECK(::pthread_mutex_consistent(&control.life) == 0);
  } else if (locked != 0) {
    return env::posix_error(locked, fmt::format("cannot take slot {}", slot));
  }
  // The kernel wakes waiters at our end only if the word says that there are any, so it always says so.
  __atomic_fetch_or(life_word(control), static_cast<std::uint32_t>(FUTEX_WAITERS), __ATOMIC_ACQ_REL);
  control.owner.store(owner, std::memory_order_seq_cst);
  return std::unique_ptr<SlotLease>(new SlotLease(std::move(segment), slot));
}

SlotLease::~SlotLease() {
  SlotControl& mine = control();
  mine.generation.store(0, std::memory_order_seq_cst);
  ORRERY_CHECK(::pthread_mutex_unlock(&mine.life) == 0);
  for (int slot = 0; slot < segment_->options().slots; ++slot) ring_bell(*segment_, slot, Sleep::kForFrames);
}

Life life_of(Segment& segment, int slot) {
  const std::uint32_t word = load(segment.control(slot));
  if ((word & FUTEX_OWNER_DIED) != 0) return Life::kDead;
  return (word & FUTEX_TID_MASK) != 0 ? Life::kAlive : Life::kAbsent;
}

FutexWait wait_for_end(Segment& segment, int slot) {
  SlotControl& control = segment.control(slot);
  return {life_word(control), load(control)};
}

void revoke(Segment& segment, std::uint64_t generation) {
  std::atomic<std::uint64_t>& revoked = segment.header().revoked;
  std::uint64_t before = revoked.load(std::memory_order_acquire);
  while (before < generation && !revoked.compare_exchange_weak(before, generation, std::memory_order_acq_rel)) {
  }
  for (int slot = 0; slot < segment.options().slots; ++slot) {
    std::atomic<std::uint32_t>& bell = segment.control(slot).bell;
    bell.fetch_add(1, std::memory_order_acq_rel);
    futex_wake_all(bell);
  }
}

void ring_bell(Segment& segment, int slot, Sleep news) {
  SlotControl& control = segment.control(slot);
  const auto wanted = news == Sleep::kForFrames ? Sleep::kForFrames : Sleep::kForFramesOrSpace;
  if (control.sleeping.load(std::memory_order_seq_cst) < static_cast<std::uint32_t>(wanted)) return;
  // Of several processes that bring news, only one has to make the call.
  if (control.sleeping.exchange(0, std::memory_order_acq_rel) == 0) return;
  control.bell.fetch_add(1, std::memory_order_acq_rel);
  futex_wake_all(control.bell);
}

}  // namespace orrery::elastic
