#include "elastic/host/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elastic/host/arena.h"

namespace orrery::elastic {
namespace {

SegmentOptions small() {
  return {.slots = 3, .ring_bytes = 64 << 10, .block_bytes = 4 << 10, .blocks = 2, .arena_bytes = 64 << 10};
}

TEST(Segment, IsSeenByTheProcessThatOpensItsPath) {
  const auto made = Segment::create(small());
  ASSERT_TRUE(made);
  const auto opened = Segment::open((*made)->path());
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->options(), small());
  (*made)->arena(2)[17] = std::byte{42};
  EXPECT_EQ((*opened)->arena(2)[17], std::byte{42});
  EXPECT_NE((*opened)->arena(2), (*made)->arena(2));
}

TEST(Segment, HasNoNameAndEndsWithItsLastUser) {
  auto made = Segment::create(small());
  ASSERT_TRUE(made);
  struct stat facts {};
  ASSERT_EQ(::fstat((*made)->descriptor(), &facts), 0);
  EXPECT_EQ(facts.st_nlink, 0u);
  const std::string path = (*made)->path();
  made->reset();
  EXPECT_FALSE(Segment::open(path));
}

TEST(Segment, RefusesLayoutsItCannotHave) {
  const auto with = [](auto change) {
    SegmentOptions options = small();
    change(options);
    return segment_bytes(options).has_value();
  };
  EXPECT_TRUE(with([](SegmentOptions&) {}));
  EXPECT_FALSE(with([](SegmentOptions& options) { options.slots = 0; }));
  EXPECT_FALSE(with([](SegmentOptions& options) { options.slots = 65; }));
  EXPECT_FALSE(with([](SegmentOptions& options) { options.ring_bytes = 65 << 10; }));
  EXPECT_FALSE(with([](SegmentOptions& options) { options.inline_bytes = 17 << 10; }));
  EXPECT_FALSE(with([](SegmentOptions& options) { options.block_bytes = 0; }));
  EXPECT_FALSE(with([](SegmentOptions& options) { options.blocks = 257; }));
  EXPECT_FALSE(with([](SegmentOptions& options) { options.arena_bytes = 4095; }));
}

// A damaged header is rejected, or describes the file as it is.
RC_GTEST_PROP(Segment, ADamagedHeaderIsRefused, ()) {
  const auto made = Segment::create(small());
  RC_ASSERT(made.has_value());
  const auto at = *rc::gen::inRange<std::size_t>(0, 64);
  const auto value = *rc::gen::arbitrary<std::uint8_t>();
  reinterpret_cast<std::uint8_t*>(&(*made)->header())[at] = value;
  const auto opened = Segment::open((*made)->path());
  if (opened) {
    RC_ASSERT(*segment_bytes((*opened)->options()) == *segment_bytes(small()));
  } else {
    RC_ASSERT(!opened.error().message().empty());
  }
}

TEST(Segment, RefusesOtherFiles) {
  EXPECT_FALSE(Segment::open("/dev/null"));
  EXPECT_FALSE(Segment::open("/proc/self/exe"));
  EXPECT_FALSE(Segment::open("/nowhere"));
}

RC_GTEST_PROP(Arena, HandsOutEveryByteOnceAndTakesItBack, ()) {
  const auto segment = *Segment::create(small());
  const auto lease = *SlotLease::take(segment, 1);
  Arena arena(*lease);
  const std::uint64_t all = arena.free_bytes();
  std::vector<ArenaBuffer> buffers;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-20, 9000))) {
    if (step < 0 && !buffers.empty()) {
      buffers.erase(buffers.begin() + (-step) % static_cast<int>(buffers.size()));
      continue;
    }
    auto buffer = arena.allocate(static_cast<std::size_t>(std::max(step, 0)));
    if (!buffer) continue;
    RC_ASSERT(reinterpret_cast<std::uintptr_t>(buffer->data()) % kLine == 0);
    RC_ASSERT(
        std::all_of(buffer->data(), buffer->data() + buffer->size(), [](std::byte b) { return b == std::byte{}; }));
    std::fill_n(buffer->data(), buffer->size(), static_cast<std::byte>(buffers.size() + 1));
    buffers.push_back(std::move(*buffer));
  }
  for (const ArenaBuffer& a : buffers) {
    for (const ArenaBuffer& b : buffers) {
      RC_ASSERT(&a == &b || a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data());
    }
  }
  buffers.clear();
  RC_ASSERT(arena.free_bytes() == all);
  RC_ASSERT(arena.allocate(all).has_value());
}

TEST(Arena, RefusesWhatCannotFit) {
  const auto segment = *Segment::create(small());
  const auto lease = *SlotLease::take(segment, 0);
  Arena arena(*lease);
  EXPECT_FALSE(arena.allocate((64 << 10) + 1));
  EXPECT_FALSE(arena.allocate(~std::size_t{0}));
}

}  // namespace
}  // namespace orrery::elastic
