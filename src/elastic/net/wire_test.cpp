#include "elastic/net/wire.h"

#include <cstring>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::elastic::net {
namespace {

WireLimits some_limits() {
  return {.generation = 7, .ranks = 4, .data_bytes = 65536, .early_bytes = 4096};
}

FrameHeader some_header(FrameKind kind, std::uint32_t length) {
  FrameHeader header;
  header.kind = kind;
  header.length = length;
  header.generation = 7;
  return header;
}

TEST(Wire, AnIntroductionComesBackAsItWas) {
  const Introduction introduction{.generation = 9, .rank = 3, .ranks = 5, .settings = 77};
  const auto back = decode<Introduction>(orrery::encode(introduction));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, introduction);
  EXPECT_FALSE(decode<Introduction>(orrery::encode(Introduction{.rank = 5, .ranks = 5})));
  const Answer answer{.verdict = Verdict::kWrongRank, .generation = 8, .rank = 2};
  EXPECT_EQ(*decode<Answer>(orrery::encode(answer)), answer);
}

TEST(Wire, SoundHeadersPass) {
  EXPECT_TRUE(check(some_header(FrameKind::kData, 65536), some_limits()));
  EXPECT_TRUE(check(some_header(FrameKind::kAnnounce, kAnnouncementBytes), some_limits()));
  EXPECT_TRUE(check(some_header(FrameKind::kHeartbeat, 0), some_limits()));
}

TEST(Wire, FramesOfOtherGenerationsAndOtherLengthsAreRefused) {
  FrameHeader header = some_header(FrameKind::kData, 100);
  header.generation = 6;
  EXPECT_EQ(check(header, some_limits()).error().message(), "a frame of generation 6 in generation 7");
  EXPECT_FALSE(check(some_header(FrameKind::kData, 65537), some_limits()));
  EXPECT_FALSE(check(some_header(FrameKind::kData, 0), some_limits()));
  EXPECT_FALSE(check(some_header(FrameKind::kHeartbeat, 1), some_limits()));
  header = some_header(FrameKind::kData, 4097);
  header.flags = kFlagEarly;
  EXPECT_FALSE(check(header, some_limits()));
  header = some_header(FrameKind::kRevoke, 0);
  header.part = 4;
  EXPECT_FALSE(check(header, some_limits()));
}

RC_GTEST_PROP(Wire, WhateverIsValidIsInsideItsLimits, ()) {
  FrameHeader header = some_header(static_cast<FrameKind>(*rc::gen::inRange(0, 12)), *rc::gen::inRange(0u, 200u));
  auto* const bytes = reinterpret_cast<std::uint8_t*>(&header);
  for (const auto& [at, value] : *rc::gen::container<std::vector<std::pair<std::size_t, std::uint8_t>>>(
           rc::gen::pair(rc::gen::inRange<std::size_t>(2, kHeaderBytes), rc::gen::arbitrary<std::uint8_t>()))) {
    bytes[at] = value;
  }
  const Status status = check(header, some_limits());
  if (!status) {
    RC_ASSERT(!status.error().message().empty());
    return;
  }
  RC_ASSERT(header.generation == 7u && header.length <= 65536u && header.credit <= 4096u);
}

RC_GTEST_PROP(Wire, PayloadsGiveAValueThatEncodesToTheSameBytesOrAnError, ()) {
  const auto values = *rc::gen::container<std::vector<std::uint8_t>>(24, rc::gen::inRange<std::uint8_t>(0, 9));
  const auto bytes = std::as_bytes(std::span(values));
  const auto same = [](const auto& encoded, std::span<const std::byte> original) {
    return std::equal(encoded.begin(), encoded.end(), original.begin(), original.end());
  };
  if (const auto announcement = decode_announcement(bytes.first(kAnnouncementBytes), 4, 8)) {
    RC_ASSERT(same(encode(*announcement), bytes.first(kAnnouncementBytes)));
  }
  if (const auto request = decode_pull(bytes)) RC_ASSERT(same(encode(*request), bytes));
  if (const auto answer = decode_pull_answer(bytes)) RC_ASSERT(same(encode(*answer), bytes));
}

}  // namespace
}  // namespace orrery::elastic::net
