#include "elastic/job/order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::elastic {
namespace {

TEST(Order, IsReadAsItWasWritten) {
  const std::vector<Order> orders = {OpenJob{"demo", 7, 4, 1 << 20},
                                     JobOpened{"", {"10.0.0.1:7000", "10.0.0.1:7001"}},
                                     JobOpened{"no", {}},
                                     StartOrder{3, {"orrery", "train"}, {{"A", "1"}, {"B", ""}}},
                                     Started{3, 4711, ""},
                                     EndOrder{3, 15},
                                     HasEnded{3, 1, 0},
                                     Printed{true, "text\n"},
                                     Posted{9, std::string("\0\0note", 6)},
                                     CloseJob{}};
  for (const Order& order : orders) {
    const auto read = decode_order(encode(order));
    ASSERT_TRUE(read) << order.index() << read.error().to_string();
    EXPECT_EQ(*read, order) << order.index();
    const std::string bytes = encode(order);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_FALSE(decode_order(std::string_view(bytes).substr(0, length)));
    }
    EXPECT_FALSE(decode_order(bytes + "x"));
  }
}

RC_GTEST_PROP(Order, AnyBytesAreAnOrderOrAnError, ()) {
  std::string bytes = encode(Order(StartOrder{3, {"orrery", "train"}, {{"A", "1"}, {"B", ""}}}));
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  bytes[at] = *rc::gen::arbitrary<char>();
  bytes[0] = *rc::gen::inRange<char>(0, 13);
  const auto read = decode_order(bytes);
  if (read) RC_ASSERT(encode(*read) == bytes);
}

}  // namespace
}  // namespace orrery::elastic
