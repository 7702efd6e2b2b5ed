#include "base/bytes.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Bytes, NumbersComeBack) {
  ByteWriter out;
  out.u8(7);
  out.u32(0x01020304);
  out.u64(~0ULL);
  out.f32(-1.5F);
  out.f64(1e300);
  out.text("ab");
  EXPECT_EQ(out.bytes().substr(1, 4), "\x04\x03\x02\x01");  // little-endian
  ByteReader in(out.bytes());
  EXPECT_EQ(*in.u8(), 7);
  EXPECT_EQ(*in.u32(), 0x01020304U);
  EXPECT_EQ(*in.u64(), ~0ULL);
  EXPECT_EQ(*in.f32(), -1.5F);
  EXPECT_EQ(*in.f64(), 1e300);
  EXPECT_EQ(*in.text(10), "ab");
  EXPECT_TRUE(in.at_end());
  EXPECT_FALSE(in.u8());
}

TEST(Bytes, ACountThatCannotFollowIsRefused) {
  ByteWriter out;
  out.u32(1'000'000);
  out.u32(0);
  EXPECT_FALSE(ByteReader(out.bytes()).count(1, 2'000'000));
  EXPECT_FALSE(ByteReader(out.bytes()).text(10));
}

}  // namespace
}  // namespace orrery
