#pragma once
// A process's place among the processes of a job on one host, and how others notice its end.
//
// The slot lease holds a robust lock in shared memory. When the thread that took the lease ends, in whatever way, the
// kernel marks the lock before it tears down the process's memory, and wakes one of the waiters: the other processes
// know within tens of microseconds, however much memory the process had. (Sockets and process descriptors report only
// after the teardown: 58 ms for 1 GB.)
//
// The slot lease belongs to the thread that took it: that thread runs all communication, and its end is the end of the
// worker even if other threads continue.

#include <memory>

#include "elastic/host/futex.h"
#include "elastic/host/segment.h"

namespace orrery::elastic {

enum class Life {
  kAbsent,  // not yet taken, or left in order
  kAlive,
  kDead,  // ended while it held the lease
};

class SlotLease {
 public:
  // Takes a free slot, or one whose owner died. kUnavailable if a live process has it. `owner` distinguishes one owner
  // of the slot from the next.
  static Result<std::unique_ptr<SlotLease>> take(std::shared_ptr<Segment> segment, int slot, std::uint64_t owner = 0);
  // Leaves in order. Must run in the thread that took the lease.
  ~SlotLease();
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;

  Segment& segment() { return *segment_; }
  SlotControl& control() { return segment_->control(slot_); }
  int slot() const { return slot_; }

 private:
  SlotLease(std::shared_ptr<Segment> segment, int slot) : segment_(std::move(segment)), slot_(slot) {}

  std::shared_ptr<Segment> segment_;
  int slot_;
};

Life life_of(Segment& segment, int slot);
// The word to sleep on while the slot's state does not change; meaningful only while life_of() is kAlive.
FutexWait wait_for_end(Segment& segment, int slot);

// Ends `generation` and all before it for all processes, and wakes them. Any process may do so, any number of times.
void revoke(Segment& segment, std::uint64_t generation);
inline bool is_revoked(Segment& segment, std::uint64_t generation) {
  return segment.header().revoked.load(std::memory_order_acquire) >= generation;
}

// Wakes the owner of a slot if it sleeps and waits for such news. Call it after making the news visible.
enum class Sleep : std::uint32_t { kAwake, kForFrames, kForFramesOrSpace };
void ring_bell(Segment& segment, int slot, Sleep news);

}  // namespace orrery::elastic
