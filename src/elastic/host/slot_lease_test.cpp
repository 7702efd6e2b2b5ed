#include "elastic/host/slot_lease.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "elastic/test_child.h"

namespace orrery::elastic {
namespace {

std::shared_ptr<Segment> make_segment() {
  return *Segment::create({.slots = 4, .ring_bytes = 64 << 10, .block_bytes = 4 << 10, .blocks = 2, .arena_bytes = 0});
}

// A process of its own that takes a lease and then waits to be killed.
pid_t sit_in_a_child(const Segment& segment, int slot) {
  const int file = ::dup(segment.descriptor());
  const pid_t child = ::fork();
  if (child != 0) {
    ::close(file);
    return child;
  }
  auto opened = Segment::open(env::FileDescriptor(file));
  if (!opened) ::_exit(2);
  const auto lease = SlotLease::take(*opened, slot);
  if (!lease) ::_exit(3);
  for (;;) ::pause();
}

void wait_while(Segment& segment, int slot, Life life) {
  wait_until([&] { return life_of(segment, slot) != life; });
}

TEST(SlotLease, BelongsToOneAtATime) {
  const auto segment = make_segment();
  EXPECT_EQ(life_of(*segment, 1), Life::kAbsent);
  auto lease = SlotLease::take(segment, 1);
  ASSERT_TRUE(lease);
  EXPECT_EQ(life_of(*segment, 1), Life::kAlive);
  std::thread([&] {
    const auto second = SlotLease::take(segment, 1);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::kUnavailable);
  }).join();
  lease->reset();
  EXPECT_EQ(life_of(*segment, 1), Life::kAbsent);
  EXPECT_FALSE(SlotLease::take(segment, 4));
  EXPECT_FALSE(SlotLease::take(segment, -1));
}

TEST(SlotLease, AKilledOwnerIsDeadAndItsSlotCanBeTaken) {
  const auto segment = make_segment();
  const pid_t child = sit_in_a_child(*segment, 2);
  wait_while(*segment, 2, Life::kAbsent);
  ASSERT_EQ(life_of(*segment, 2), Life::kAlive);
  segment->control(2).generation.store(5);
  ::kill(child, SIGKILL);
  wait_while(*segment, 2, Life::kAlive);
  EXPECT_EQ(life_of(*segment, 2), Life::kDead);
  ::waitpid(child, nullptr, 0);

  EXPECT_FALSE(is_revoked(*segment, 5));
  const auto lease = SlotLease::take(segment, 2);
  ASSERT_TRUE(lease);
  EXPECT_EQ(life_of(*segment, 2), Life::kAlive);
  EXPECT_TRUE(is_revoked(*segment, 5)) << "a waiter for the previous owner must learn of its end";
  EXPECT_FALSE(is_revoked(*segment, 6));
}

// Tests the wake-up itself: the kernel wakes a sleeper whose timeout is long.
TEST(SlotLease, AnEndWakesTheProcessThatSleepsOnIt) {
  const auto segment = make_segment();
  const pid_t child = sit_in_a_child(*segment, 0);
  wait_while(*segment, 0, Life::kAbsent);
  std::thread sleeper([&] {
    while (life_of(*segment, 0) == Life::kAlive) {
      const FutexWait end = wait_for_end(*segment, 0);
      if (life_of(*segment, 0) == Life::kAlive) futex_wait_any({&end, 1}, Seconds(1000));
    }
  });
  ::usleep(50'000);
  ::kill(child, SIGKILL);
  sleeper.join();
  EXPECT_EQ(life_of(*segment, 0), Life::kDead);
  ::waitpid(child, nullptr, 0);
}

TEST(SlotLease, AThreadThatEndsWithoutLeavingIsDeadThoughItsProcessLives) {
  const auto segment = make_segment();
  const int file = ::dup(segment->descriptor());
  const pid_t child = ::fork();
  if (child == 0) {
    auto opened = Segment::open(env::FileDescriptor(file));
    std::thread([&] {
      if (!SlotLease::take(*opened, 3)->release()) ::_exit(2);
    }).join();
    for (;;) ::pause();
  }
  ::close(file);
  wait_while(*segment, 3, Life::kAbsent);
  wait_while(*segment, 3, Life::kAlive);
  EXPECT_EQ(life_of(*segment, 3), Life::kDead);
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Revoke, EndsThisGenerationAndAllBefore) {
  const auto segment = make_segment();
  revoke(*segment, 3);
  revoke(*segment, 2);
  EXPECT_TRUE(is_revoked(*segment, 3));
  EXPECT_TRUE(is_revoked(*segment, 1));
  EXPECT_FALSE(is_revoked(*segment, 4));
}

}  // namespace
}  // namespace orrery::elastic
