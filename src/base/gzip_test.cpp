#include "base/gzip.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace {

RC_GTEST_PROP(Gzip, WhatIsPackedUnpacks, (const std::string& content)) {
  const auto back = gunzip(gzip(content), mebibytes(16));
  RC_ASSERT(back);
  RC_ASSERT(*back == content);
}

RC_GTEST_PROP(Gzip, ACutFileIsAnError, (const std::string& content)) {
  const std::string packed = gzip(content);
  const auto length = *rc::gen::inRange<std::size_t>(0, packed.size());
  RC_ASSERT_FALSE(gunzip(std::string_view(packed).substr(0, length), mebibytes(16)));
}

RC_GTEST_PROP(Gzip, AnyBytesGiveContentOrAnError, (const std::string& bytes)) {
  static_cast<void>(gunzip("\x1f\x8b\x08" + bytes, mebibytes(1)));
}

TEST(Gzip, ABombIsStoppedAtTheLimit) {
  const auto result = gunzip(gzip(std::string(50'000'000, 'x')), mebibytes(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message(), "unpacks to more than 1.00 MiB");
}

}  // namespace
}  // namespace orrery
