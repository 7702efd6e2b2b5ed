// Lucid's classes.

#include "schedule/policies/lucid.h"

#include <gtest/gtest.h>

namespace orrery::schedule {
namespace {

TEST(LucidClasses, AddUpToTwo) {
  EXPECT_EQ(lucid_class(0.1), 0);
  EXPECT_EQ(lucid_class(0.4), 1);
  EXPECT_EQ(lucid_class(0.9), 2);
  EXPECT_TRUE(lucid_packs(1, 1));
  EXPECT_TRUE(lucid_packs(0, 2));
  EXPECT_FALSE(lucid_packs(1, 2));
}

}  // namespace
}  // namespace orrery::schedule
