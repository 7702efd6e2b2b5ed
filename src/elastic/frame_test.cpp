#include "elastic/frame.h"

#include <cstring>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::elastic {
namespace {

FrameLimits some_limits() {
  return {
      .generation = 7, .ranks = 4, .inline_bytes = 4096, .block_bytes = 65536, .blocks = 8, .arenas_bytes = 1 << 20};
}

Frame announcement() {
  Frame frame;
  frame.generation = 7;
  frame.collective = Collective::kAllReduce;
  frame.count = 1000;
  return frame;
}

TEST(Frame, SoundOnesPass) {
  EXPECT_TRUE(check(announcement(), some_limits()));
  Frame frame = announcement();
  frame.place = (1 << 20) - 4000;
  EXPECT_TRUE(check(frame, some_limits()));
  frame.kind = FrameKind::kScatter;
  frame.bytes = 65536;
  frame.place = 7;
  EXPECT_TRUE(check(frame, some_limits()));
}

TEST(Frame, OtherGenerationsAreRefused) {
  Frame frame = announcement();
  frame.generation = 6;
  const Status status = check(frame, some_limits());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "a frame of generation 6 in generation 7");
}

TEST(Frame, TensorsOutsideTheArenasAreRefused) {
  Frame frame = announcement();
  frame.place = (1 << 20) - 3999;
  EXPECT_FALSE(check(frame, some_limits()));
  frame.place = kPrivatePlace - 1;
  EXPECT_FALSE(check(frame, some_limits()));
  frame.place = 0;
  frame.count = ~0ULL / 4 + 2;  // its number of bytes wraps around to a small one
  EXPECT_FALSE(check(frame, some_limits()));
}

RC_GTEST_PROP(Frame, WhatIsValidIsInsideItsLimits, ()) {
  Frame frame = announcement();
  frame.kind = static_cast<FrameKind>(*rc::gen::inRange(0, 6));
  auto* const bytes = reinterpret_cast<std::uint8_t*>(&frame);
  for (const auto& [at, value] : *rc::gen::container<std::vector<std::pair<std::size_t, std::uint8_t>>>(
           rc::gen::pair(rc::gen::inRange<std::size_t>(8, sizeof(Frame)), rc::gen::arbitrary<std::uint8_t>()))) {
    bytes[at] = value;
  }
  const FrameLimits limits = some_limits();
  const Status status = check(frame, limits);
  if (!status) {
    RC_ASSERT(!status.error().message().empty());
    return;
  }
  RC_ASSERT(frame.target == kToAll || frame.target < limits.ranks);
  if (frame.kind == FrameKind::kAnnounce) {
    RC_ASSERT(frame.bytes <= limits.inline_bytes && frame.root < limits.ranks);
    RC_ASSERT(!to_string(frame.collective).empty() && !to_string(frame.type).empty() && !to_string(frame.op).empty());
    const Descriptor descriptor = {frame.collective, frame.type, frame.op, frame.root, frame.count};
    RC_ASSERT(frame.place == kPrivatePlace || frame.place + descriptor.bytes() <= limits.arenas_bytes);
  } else if (frame.kind != FrameKind::kDone) {
    RC_ASSERT(frame.place < limits.blocks && frame.bytes > 0 && frame.bytes <= limits.block_bytes);
  }
}

RC_GTEST_PROP(Slices, CoverTheTensorInRankOrder, ()) {
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 100000);
  const int ranks = *rc::gen::inRange(1, 65);
  std::uint64_t at = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Range slice = slice_of(count, rank, ranks);
    RC_ASSERT(slice.begin == at && slice.end >= slice.begin);
    RC_ASSERT(slice.size() <= count / static_cast<std::uint64_t>(ranks) + 128);
    RC_ASSERT(slice.end == count || slice.end % 64 == 0);
    at = slice.end;
  }
  RC_ASSERT(at == count);
}

}  // namespace
}  // namespace orrery::elastic
