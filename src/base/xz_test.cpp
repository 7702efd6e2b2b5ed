#include "base/xz.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const std::string kText = [] {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 1000) + ",";
  return text;
}();

TEST(Xz, GivesBackWhatWasPacked) {
  EXPECT_EQ(unxz(xz(kText), mebibytes(1)).value(), kText);
  EXPECT_EQ(unxz(xz(""), mebibytes(1)).value(), "");
}

TEST(Xz, RefusesCutDamagedAndForeignBytes) {
  const std::string packed = xz(kText);
  EXPECT_FALSE(unxz(packed.substr(0, packed.size() / 2), mebibytes(1)).has_value());
  EXPECT_FALSE(unxz("", mebibytes(1)).has_value());
  EXPECT_FALSE(unxz("not xz at all", mebibytes(1)).has_value());
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  EXPECT_FALSE(unxz(damaged, mebibytes(1)).has_value());
}

TEST(Xz, StopsAtTheLimit) {
  const auto content = unxz(xz(kText), kibibytes(4));
  ASSERT_FALSE(content.has_value());
  EXPECT_NE(content.error().to_string().find("unpacks to more than"), std::string::npos);
}

}  // namespace
}  // namespace orrery
