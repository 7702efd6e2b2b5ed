#include "base/index.h"

#include <gtest/gtest.h>
#include <type_traits>
#include <unordered_set>

namespace orrery {
namespace {

using RowIndex = Index<struct RowKind>;
using ColumnIndex = Index<struct ColumnKind>;

static_assert(!std::is_convertible_v<int, RowIndex>);
static_assert(!std::is_convertible_v<RowIndex, int>);
static_assert(!std::is_constructible_v<RowIndex, ColumnIndex>);
static_assert(!std::equality_comparable_with<RowIndex, ColumnIndex>);
static_assert(sizeof(RowIndex) == sizeof(std::int32_t) && std::is_trivially_copyable_v<RowIndex>);

TEST(Index, IsInvalidUntilItIsSet) {
  EXPECT_FALSE(RowIndex().valid());
  EXPECT_EQ(RowIndex().value(), -1);
  EXPECT_TRUE(RowIndex(0).valid());
}

TEST(Index, OrdersPrintsAndHashesAsItsNumber) {
  EXPECT_LT(RowIndex(2), RowIndex(10));
  EXPECT_EQ(fmt::format("{} {:>3}", RowIndex(7), RowIndex(8)), "7   8");
  EXPECT_EQ((std::unordered_set<RowIndex>{RowIndex(1), RowIndex(1), RowIndex(2)}.size()), 2u);
}

TEST(Index, RangesCountUp) {
  std::vector<RowIndex> seen;
  for (const RowIndex row : IndexRange(RowIndex(3), RowIndex(6))) seen.push_back(row);
  EXPECT_EQ(seen, (std::vector{RowIndex(3), RowIndex(4), RowIndex(5)}));
  for (const RowIndex row : IndexRange<RowIndex>(0)) FAIL() << row.value();
}

TEST(Index, RangesCountDownWhenReversed) {
  std::vector<RowIndex> seen;
  for (const RowIndex row : IndexRange<RowIndex>(3).reversed()) seen.push_back(row);
  EXPECT_EQ(seen, (std::vector{RowIndex(2), RowIndex(1), RowIndex(0)}));
  for (const RowIndex row : IndexRange<RowIndex>(0).reversed()) FAIL() << row.value();
  EXPECT_EQ(RowIndex(7) - RowIndex(3), 4);
}

TEST(Index, ReadsItsOwnVector) {
  IndexedVector<RowIndex, int> values(3, 5);
  values[RowIndex(1)] = 8;
  int sum = 0;
  for (const RowIndex row : values.indices()) sum += values[row] * (row.value() + 1);
  EXPECT_EQ(sum, 5 * 1 + 8 * 2 + 5 * 3);
  static_assert(!std::is_invocable_v<decltype([](auto& v, auto i) -> decltype(v[i]) { return v[i]; }),
                                     IndexedVector<RowIndex, int>&, ColumnIndex>);
}

}  // namespace
}  // namespace orrery
