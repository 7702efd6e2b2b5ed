#include "base/crc32c.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string_view>

namespace orrery {
namespace {

TEST(Crc32c, IsTheOneOfTheStandard) {
  const std::string_view digits = "123456789";  // RFC 3720, and every catalogue of checksums
  EXPECT_EQ(crc32c(0, std::as_bytes(std::span(digits))), 0xe3069283u);
  const std::vector<std::byte> zeros(32);
  EXPECT_EQ(crc32c(0, zeros), 0x8a9136aau);
}

RC_GTEST_PROP(Crc32c, IsTheSameWithAndWithoutTheInstructionAndInPieces, (const std::vector<std::uint8_t>& values)) {
  const auto bytes = std::as_bytes(std::span(values));
  RC_ASSERT(crc32c(0, bytes) == crc32c_portable(0, bytes));
  const std::size_t cut = *rc::gen::inRange<std::size_t>(0, values.size() + 1);
  RC_ASSERT(crc32c(crc32c(0, bytes.first(cut)), bytes.subspan(cut)) == crc32c(0, bytes));
}

}  // namespace
}  // namespace orrery
