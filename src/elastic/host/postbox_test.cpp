#include "elastic/host/postbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace orrery::elastic {
namespace {

std::string own_job() {
  return "test-" + std::to_string(::getpid());
}

TEST(Postbox, CarriesWholeMessagesInOrder) {
  auto a = Postbox::open(own_job(), 1), b = Postbox::open(own_job(), 2);
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  const std::string large(50'000, 'x');
  EXPECT_TRUE(a->send(2, "first"));
  EXPECT_TRUE(a->send(2, large));
  EXPECT_EQ(**b->receive(Seconds(10)), "first");
  EXPECT_EQ(**b->receive(Seconds(10)), large);
  EXPECT_FALSE(*b->receive(Seconds(0)));
}

TEST(Postbox, ANameBelongsToOneUntilItEnds) {
  auto first = Postbox::open(own_job(), 7);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Postbox::open(own_job(), 7));
  EXPECT_TRUE(Postbox::open(own_job() + "-other", 7));
  first = Postbox::open(own_job(), 8);
  EXPECT_TRUE(Postbox::open(own_job(), 7));
  EXPECT_FALSE(Postbox::open("", 7));
  EXPECT_FALSE(Postbox::open(std::string(65, 'a'), 7));
}

TEST(Postbox, SendingNeverWaits) {
  auto a = Postbox::open(own_job(), 1), b = Postbox::open(own_job(), 2);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(a->send(3, "nobody"));
  EXPECT_FALSE(a->send(2, std::string(kPostBytesMax + 1, 'x')));
  int sent = 0;
  while (sent < 100'000 && a->send(2, "again")) ++sent;  // nobody reads: the box gets full
  EXPECT_LT(sent, 100'000);
  EXPECT_EQ(**b->receive(Seconds(10)), "again");
}

}  // namespace
}  // namespace orrery::elastic
