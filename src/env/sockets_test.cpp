// The same expectations of real and simulated sockets, and what a simulated network can do to them.

#include "env/sockets.h"

#include <array>
#include <gtest/gtest.h>
#include <limits>

#include "env/real_clock.h"
#include "env/real_sockets.h"
#include "env/sim_sockets.h"

namespace orrery::env {
namespace {

constexpr Seconds kLong{20};
constexpr Seconds kShort{0.05};

std::string take(Connection& connection, std::size_t count) {
  std::string text(count, '\0');
  const Status status = receive_exactly(connection, text, kLong);
  return status ? text : status.error().to_string();
}

class SocketsTest : public testing::TestWithParam<bool> {
 protected:
  SocketsTest() {
    if (GetParam()) {
      sockets_ = std::make_unique<RealSockets>();
      return;
    }
    network_ = std::make_unique<SimNetwork>(sim_clock_);
    sockets_ = std::make_unique<SimSockets>(*network_, "127.0.0.1");
  }

  struct Pair {
    std::unique_ptr<Connection> client, server;
  };
  Pair make_pair(Listener& listener) {
    auto client = sockets_->connect(listener.address(), kLong);
    EXPECT_TRUE(client) << client.error().to_string();
    auto server = listener.accept(kLong);
    EXPECT_TRUE(server) << server.error().to_string();
    return {std::move(*client), std::move(*server)};
  }

  SimClock sim_clock_;
  std::unique_ptr<SimNetwork> network_;
  std::unique_ptr<Sockets> sockets_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, SocketsTest, testing::Bool(),
                         [](const auto& world) { return world.param ? "real" : "simulated"; });

TEST_P(SocketsTest, BytesGoBothWaysInOrder) {
  const auto listener = *sockets_->listen({"127.0.0.1", 0});
  ASSERT_NE(listener->address().port, 0);
  const auto [client, server] = make_pair(*listener);
  EXPECT_EQ(client->peer(), listener->address());
  EXPECT_EQ(server->peer(), client->local());
  ASSERT_TRUE(client->send("hel", kLong));
  ASSERT_TRUE(client->send("lo", kLong));
  EXPECT_EQ(take(*server, 5), "hello");
  ASSERT_TRUE(server->send("world", kLong));
  EXPECT_EQ(take(*client, 2), "wo");
  EXPECT_EQ(take(*client, 3), "rld");
}

TEST_P(SocketsTest, AClosedPeerIsSeenAfterItsLastBytes) {
  const auto listener = *sockets_->listen({"127.0.0.1", 0});
  auto [client, server] = make_pair(*listener);
  ASSERT_TRUE(client->send("bye", kLong));
  client.reset();
  EXPECT_EQ(take(*server, 3), "bye");
  std::array<char, 8> buffer;
  EXPECT_EQ(*server->receive(buffer, kLong), 0u);
  EXPECT_EQ(*server->receive(buffer, kLong), 0u) << "the end can be read again";
  const Status status = receive_exactly(*server, buffer, kLong);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("closed the connection after 0 of 8 bytes"), std::string::npos);
}

TEST_P(SocketsTest, WaitingStopsAtItsTimeout) {
  const auto listener = *sockets_->listen({"127.0.0.1", 0});
  const auto nobody = listener->accept(kShort);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code(), ErrorCode::kUnavailable);
  const auto [client, server] = make_pair(*listener);
  std::array<char, 8> buffer;
  const auto nothing = client->receive(buffer, kShort);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(nothing.error().message().find("timed out after 50.0 ms"), std::string::npos);
  ASSERT_TRUE(server->send("late", kLong));
  EXPECT_EQ(take(*client, 4), "late") << "a receive that timed out may be repeated";
}

TEST_P(SocketsTest, ASenderWaitsForItsReader) {
  const auto listener = *sockets_->listen({"127.0.0.1", 0});
  const auto [client, server] = make_pair(*listener);
  const Status status = client->send(std::string(64 << 20, 'x'), kShort);
  ASSERT_FALSE(status) << "no process reads, so 64 MiB cannot be handed over";
  EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable);
}

TEST_P(SocketsTest, ConnectingToAClosedPortIsRefused) {
  auto listener = *sockets_->listen({"127.0.0.1", 0});
  const Address address = listener->address();
  EXPECT_FALSE(sockets_->listen(address)) << "the port is taken";
  listener.reset();
  const auto client = sockets_->connect(address, kLong);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), ErrorCode::kUnavailable);
  EXPECT_NE(client.error().message().find("Connection refused"), std::string::npos);
}

TEST_P(SocketsTest, ABadAddressIsInvalid) {
  EXPECT_EQ(sockets_->listen({"not an address", 0}).error().code(), ErrorCode::kInvalidArgument);
}

class SimSocketsTest : public testing::Test {
 protected:
  SimSocketsTest() {
    network_.set_latency("a", "b", Seconds(0.5));
    listener_ = *b_.listen({"b", 80});
    client_ = *a_.connect({"b", 80}, kLong);
    server_ = *listener_->accept(kLong);
  }

  SimClock clock_;
  SimNetwork network_{clock_};
  SimSockets a_{network_, "a"};
  SimSockets b_{network_, "b"};
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connection> client_, server_;
};

TEST_F(SimSocketsTest, BytesArriveAfterTheLatency) {
  EXPECT_EQ(clock_.monotonic(), Seconds(1)) << "connecting takes a round trip";
  ASSERT_TRUE(client_->send("x", kLong));
  std::array<char, 1> buffer;
  EXPECT_FALSE(server_->receive(buffer, Seconds(0.25)));
  EXPECT_TRUE(server_->receive(buffer, kLong));
  EXPECT_EQ(clock_.monotonic(), Seconds(1.5));
}

TEST_F(SimSocketsTest, APartitionHoldsBytesBackUntilItHeals) {
  network_.partition("b", "a");
  ASSERT_TRUE(client_->send("held", kLong));
  std::array<char, 8> buffer;
  EXPECT_FALSE(server_->receive(buffer, Seconds(10)));
  EXPECT_FALSE(a_.connect({"b", 80}, Seconds(10)));
  clock_.at(clock_.monotonic() + Seconds(5), [this] { network_.heal("a", "b"); });
  const Seconds start = clock_.monotonic();
  EXPECT_EQ(take(*server_, 4), "held");
  EXPECT_EQ(clock_.monotonic() - start, Seconds(5));
}

TEST_F(SimSocketsTest, AResetEndsBothEnds) {
  network_.reset("a", "b");
  std::array<char, 8> buffer;
  EXPECT_FALSE(client_->send("x", kLong));
  EXPECT_FALSE(server_->receive(buffer, kLong));
  EXPECT_TRUE(a_.connect({"b", 80}, kLong)) << "a new connection is possible";
}

TEST_F(SimSocketsTest, ACrashedHostRefusesUntilItListensAgain) {
  network_.crash_host("b");
  EXPECT_FALSE(client_->send("x", kLong));
  EXPECT_FALSE(a_.connect({"b", 80}, kLong));
  EXPECT_FALSE(listener_->accept(kLong));
  const auto again = *b_.listen({"b", 80});
  listener_.reset();
  EXPECT_TRUE(a_.connect({"b", 80}, kLong)) << "the old listener must not close the new port";
}

}  // namespace
}  // namespace orrery::env
