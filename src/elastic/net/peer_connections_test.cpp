#include "elastic/net/peer_connections.h"

#include <gtest/gtest.h>

#include "env/env.h"
#include "env/real_clock.h"

namespace orrery::elastic::net {
namespace {

const env::Address kAnywhere{"127.0.0.1", 0};

// One process with a listener.
struct Station {
  env::RealClock clock;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<PeerConnections> peers;
  std::vector<std::string> got;

  explicit Station(std::uint64_t self, const env::Address& address = kAnywhere, const std::string& job = "job") {
    listener = *Listener::open(env::make_real_env(), {.secret = job}, address, true);
    peers = *PeerConnections::open(*listener, self);
  }
  void look() {
    for (std::string& message : peers->receive()) got.push_back(std::move(message));
  }
};

template <class Done>
bool look_until(std::initializer_list<Station*> stations, const Done& done) {
  for (int i = 0; i < 60'000; ++i) {
    for (Station* const station : stations) station->look();
    if (done()) return true;
    env::RealClock().sleep(Seconds(0.001));
  }
  return false;
}

TEST(PeerConnections, ArrivesInOrderBothWays) {
  Station a(1), b(2);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(a.peers->send(2, b.listener->address(), "a" + std::to_string(i)));
    EXPECT_TRUE(b.peers->send(1, a.listener->address(), "b" + std::to_string(i)));
  }
  ASSERT_TRUE(look_until({&a, &b}, [&] { return a.got.size() == 50 && b.got.size() == 50; }));
  EXPECT_EQ(a.got.front(), "b0");
  EXPECT_EQ(b.got.back(), "a49");
}

TEST(PeerConnections, AProcessThatIsGoneIsLostAndOneThatComesBackIsNot) {
  Station a(1);
  const auto reserved = *env::make_real_env().sockets.reserve(kAnywhere);
  const env::Address address = reserved->address();
  a.peers->watch({{2, address}});
  ASSERT_TRUE(look_until({&a}, [&] { return a.peers->is_lost(2); }));
  EXPECT_FALSE(a.peers->was_reached(2));
  {
    Station b(2, address);
    ASSERT_TRUE(look_until({&a, &b}, [&] { return a.peers->was_reached(2); }));
    EXPECT_FALSE(a.peers->is_lost(2));
  }
  ASSERT_TRUE(look_until({&a}, [&] { return a.peers->is_lost(2); }));
  Station again(2, address);
  ASSERT_TRUE(look_until({&a, &again}, [&] { return !a.peers->is_lost(2); }));
}

TEST(PeerConnections, AnotherProcessAtTheSameAddressGetsNothing) {
  Station a(1), stranger(3), of_another_job(2, kAnywhere, "another job");
  for (Station* const other : {&stranger, &of_another_job}) {
    a.peers->send(2, other->listener->address(), "secret");
    EXPECT_FALSE(look_until({&a, other}, [&] { return !other->got.empty() || a.peers->is_lost(2); }) &&
                 !other->got.empty());
  }
}

TEST(PeerConnections, OneThatIsBusyForLongIsNotLostAndGetsItsMessages) {
  Station a(1), b(2);
  a.peers->watch({{2, b.listener->address()}});
  a.peers->send(2, b.listener->address(), "later");
  const Seconds end = a.clock.monotonic() + Seconds(0.5);
  while (a.clock.monotonic() < end) {
    a.look();
    ASSERT_FALSE(a.peers->is_lost(2));
    a.clock.sleep(Seconds(0.01));
  }
  EXPECT_TRUE(a.peers->was_reached(2));
  ASSERT_TRUE(look_until({&a, &b}, [&] { return !b.got.empty(); }));
  EXPECT_EQ(b.got, std::vector<std::string>{"later"});
}

TEST(PeerConnections, OneThatReadsNothingCostsBoundedMemory) {
  Station a(1), b(2);
  a.peers->watch({{2, b.listener->address()}});
  ASSERT_TRUE(look_until({&a, &b}, [&] { return a.peers->was_reached(2); }));
  const std::string large(1 << 20, 'x');
  bool took = true;
  for (int i = 0; i < 100 && took; ++i) took = a.peers->send(2, b.listener->address(), large);
  EXPECT_FALSE(took);
}

TEST(PeerConnections, WhatWasSaidLastArrivesThoughItsSenderIsGone) {
  Station b(2);
  {
    Station a(1);
    a.peers->watch({{2, b.listener->address()}});
    a.peers->send(2, b.listener->address(), "first");
    ASSERT_TRUE(look_until({&a, &b}, [&] { return !b.got.empty(); }));
    a.peers->send(2, b.listener->address(), "last");
  }
  ASSERT_TRUE(look_until({&b}, [&] { return b.got.size() == 2; }));
  EXPECT_EQ(b.got.back(), "last");
}

}  // namespace
}  // namespace orrery::elastic::net
