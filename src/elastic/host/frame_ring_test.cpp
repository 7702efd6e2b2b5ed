#include "elastic/host/frame_ring.h"

#include <cstring>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <thread>

#include "base/random.h"

namespace orrery::elastic {
namespace {

std::shared_ptr<Segment> make_segment() {
  return *Segment::create({.slots = 3, .ring_bytes = 64 << 10, .block_bytes = 4 << 10, .blocks = 2, .arena_bytes = 0});
}

Frame numbered(std::uint64_t number, std::size_t payload) {
  Frame frame;
  frame.kind = FrameKind::kAnnounce;
  frame.name = number;
  frame.bytes = static_cast<std::uint32_t>(payload);
  return frame;
}

// Payload that looks like frames: the words count up as stamps do.
std::vector<std::byte> payload_of(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    const std::uint64_t word = number + at / 64;
    std::memcpy(payload.data() + at, &word, sizeof word);
  }
  return payload;
}

// Frames of any size reach both readers unchanged and in order, in whatever order the readers read.
RC_GTEST_PROP(FrameRing, EveryReaderGetsEveryFrameInOrder, ()) {
  const auto segment = make_segment();
  FrameRingWriter writer(*segment, 0, {1, 2});
  std::vector<FrameRingReader> readers = {{*segment, 0, 1}, {*segment, 0, 2}};
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::uint64_t sent = 0;
  std::vector<std::size_t> sizes;
  std::vector<std::uint64_t> read = {0, 0};
  for (int step = 0; step < 400; ++step) {
    const auto who = random.below(3);
    if (who == 2) {
      const std::size_t bytes = random.below(4) == 0 ? random.below(16 << 10) : random.below(200);
      if (writer.send(numbered(sent, bytes), payload_of(sent, bytes))) {
        sizes.push_back(bytes);
        ++sent;
      }
      continue;
    }
    const auto received = readers[who].peek();
    RC_ASSERT(received.has_value());
    RC_ASSERT(received->has_value() == (read[who] < sent));
    if (!*received) continue;
    const std::uint64_t number = read[who]++;
    RC_ASSERT((*received)->frame == numbered(number, sizes[number]));
    const auto payload = (*received)->payload;
    const auto expected = payload_of(number, sizes[number]);
    RC_ASSERT(std::equal(payload.begin(), payload.end(), expected.begin(), expected.end()));
    readers[who].pop();
  }
}

TEST(FrameRing, AReaderThatNeverReadsStopsTheWriter) {
  const auto segment = make_segment();
  FrameRingWriter writer(*segment, 0, {1, 2});
  FrameRingReader busy(*segment, 0, 1), idle(*segment, 0, 2);
  std::uint64_t sent = 0;
  while (sent < 100'000 && writer.send(numbered(sent, 0), {})) {
    ASSERT_TRUE(busy.peek());
    busy.pop();
    ++sent;
  }
  EXPECT_EQ(sent, (64u << 10) / kLine - 1);  // one line is always kept clear
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(*idle.peek());
    idle.pop();
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(writer.send(numbered(sent + static_cast<std::uint64_t>(i), 0), {}));
  EXPECT_FALSE(writer.send(numbered(sent + 10, 0), {}));
}

TEST(FrameRing, ReaderAndWriterMayRunAtTheSameTime) {
  const auto segment = make_segment();
  FrameRingWriter writer(*segment, 0, {1});
  constexpr std::uint64_t kFrames = 20'000;
  std::thread other([&] {
    FrameRingReader reader(*segment, 0, 1);
    for (std::uint64_t number = 0; number < kFrames;) {
      const auto received = reader.peek();
      ASSERT_TRUE(received);
      if (!*received) {
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ((*received)->frame.name, number);
      const auto expected = payload_of(number, number % 700);
      ASSERT_TRUE(
          std::equal(expected.begin(), expected.end(), (*received)->payload.begin(), (*received)->payload.end()));
      reader.pop();
      ++number;
    }
  });
  for (std::uint64_t number = 0; number < kFrames; ++number) {
    const auto payload = payload_of(number, number % 700);
    while (!writer.send(numbered(number, payload.size()), payload)) std::this_thread::yield();
  }
  other.join();
}

// Whatever the ring holds, reading it ends: with a frame inside the ring, with nothing, or with an error.
RC_GTEST_PROP(FrameRing, ADamagedRingIsAnErrorAtWorst, ()) {
  const auto segment = make_segment();
  FrameRingWriter writer(*segment, 0, {1});
  for (int i = 0; i < 10; ++i) writer.send(numbered(static_cast<std::uint64_t>(i), 100), payload_of(1, 100));
  for (const auto& [at, value] : *rc::gen::container<std::vector<std::pair<std::size_t, std::uint8_t>>>(
           rc::gen::pair(rc::gen::inRange<std::size_t>(0, 10 * 3 * kLine), rc::gen::arbitrary<std::uint8_t>()))) {
    segment->ring(0)[at] = static_cast<std::byte>(value);
  }
  FrameRingReader reader(*segment, 0, 1);
  for (int i = 0; i < 2000; ++i) {
    const auto received = reader.peek();
    if (!received || !*received) return;
    const auto* const begin = (*received)->payload.data();
    RC_ASSERT(begin + (*received)->payload.size() <= segment->ring(0) + (64 << 10));
    reader.pop();
  }
}

}  // namespace
}  // namespace orrery::elastic
