// The same expectations of real and simulated pollers, connections that never wait, processes and requests to end.

#include "env/poller.h"

#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

#include "env/env.h"
#include "env/real_clock.h"
#include "env/sim_env.h"

namespace orrery::env {
namespace {

constexpr Seconds kLong{20};
constexpr Seconds kShort{0.02};

class PollerTest : public testing::TestWithParam<bool> {
 protected:
  PollerTest() : env_(GetParam() ? make_real_env() : sim_.env()), poller_(*env_.pollers.make()) {
    sim_.processes.add_program("sh", [](const ProcessSpec&) { return SimRun{Seconds(0.1), 3}; });
  }

  // Whether something was ready before the time was over.
  bool waits(Seconds timeout) {
    const Seconds start = env_.clock.monotonic();
    EXPECT_TRUE(poller_->wait(timeout));
    return env_.clock.monotonic() - start < timeout;
  }

  struct Pair {
    std::unique_ptr<Connection> client, server;
  };
  Pair make_pair(Listener& listener) {
    auto client = env_.sockets.begin_connect(listener.address());
    EXPECT_TRUE(client);
    auto watch = Watch::on(*poller_, **client, Interest::kOutput);
    EXPECT_TRUE(watch);
    for (auto made = (*client)->is_connected(); made && !*made; made = (*client)->is_connected()) {
      EXPECT_TRUE(poller_->wait(kLong));
    }
    auto server = listener.accept(kLong);
    EXPECT_TRUE(server);
    return {std::move(*client), std::move(*server)};
  }

  SimEnv sim_;
  Env env_;
  std::unique_ptr<Poller> poller_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, PollerTest, testing::Bool(),
                         [](const auto& world) { return world.param ? "real" : "simulated"; });

TEST_P(PollerTest, NothingIsReadyWithoutReason) {
  EXPECT_FALSE(waits(kShort));
  const auto listener = *env_.sockets.listen({"127.0.0.1", 0});
  const auto watch = Watch::on(*poller_, *listener);
  EXPECT_FALSE(waits(kShort));
  EXPECT_EQ(*listener->accept_now(), nullptr);
}

TEST_P(PollerTest, AConnectionIsMadeWithoutWaiting) {
  const auto listener = *env_.sockets.listen({"127.0.0.1", 0});
  const auto watch = Watch::on(*poller_, *listener);
  const auto client = *env_.sockets.begin_connect(listener->address());
  EXPECT_TRUE(waits(kLong));
  const auto server = *listener->accept_now();
  ASSERT_NE(server, nullptr);
  EXPECT_FALSE(waits(kShort)) << "it was accepted";
  EXPECT_EQ(*client->is_connected(), true);
  EXPECT_EQ(client->peer(), listener->address());
  EXPECT_EQ(server->peer(), client->local());
  EXPECT_TRUE(server->is_from_our_user());
}

TEST_P(PollerTest, ARefusedConnectionSaysSo) {
  Address nobody;
  {
    const auto listener = *env_.sockets.listen({"127.0.0.1", 0});
    nobody = listener->address();
  }
  const auto client = env_.sockets.begin_connect(nobody);
  if (!client) return;  // a real one may know at once
  const auto watch = Watch::on(*poller_, **client, Interest::kOutput);
  EXPECT_TRUE(waits(kLong));
  const auto made = (*client)->is_connected();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("refused"), std::string::npos) << made.error().message();
}

TEST_P(PollerTest, BytesAndRoomAreReady) {
  const auto listener = *env_.sockets.listen({"127.0.0.1", 0});
  auto [client, server] = make_pair(*listener);
  auto watch = *Watch::on(*poller_, *server);
  EXPECT_FALSE(waits(kShort));
  std::array<char, 1 << 16> buffer;
  EXPECT_FALSE(*server->receive_some(buffer));
  EXPECT_EQ(*client->send_some("hello"), 5u);
  EXPECT_TRUE(waits(kLong));
  EXPECT_EQ(*server->receive_some(buffer), std::optional<std::size_t>(5));
  EXPECT_EQ(std::string_view(buffer.data(), 5), "hello");

  // Until there is no room, and there is again.
  const std::string much(1 << 16, 'x');
  std::size_t sent = 0;
  for (std::size_t some = 1; some > 0; sent += some) some = *client->send_some(much);
  auto room = *Watch::on(*poller_, *client, Interest::kOutput);
  watch.end();
  EXPECT_FALSE(waits(kShort));
  std::size_t got = 0;
  const auto again = *Watch::on(*poller_, *server);
  while (got < sent) {
    EXPECT_TRUE(poller_->wait(kLong));
    if (const auto some = *server->receive_some(buffer)) got += *some;
  }
  EXPECT_TRUE(waits(kLong));
  EXPECT_GT(*client->send_some(much), 0u);
}

TEST_P(PollerTest, AFinishedConnectionStillReceives) {
  const auto listener = *env_.sockets.listen({"127.0.0.1", 0});
  auto [client, server] = make_pair(*listener);
  const auto watch = *Watch::on(*poller_, *server);
  EXPECT_EQ(*client->send_some("last"), 4u);
  client->finish();
  std::array<char, 8> buffer;
  std::size_t got = 0;
  for (std::optional<std::size_t> some = 1; !some || *some > 0;) {
    EXPECT_TRUE(poller_->wait(kLong));
    some = *server->receive_some(buffer);
    got += some.value_or(0);
  }
  EXPECT_EQ(got, 4u);
  EXPECT_FALSE(client->send_some("more"));
  EXPECT_EQ(*server->send_some("answer"), 6u);
  EXPECT_EQ(*client->receive(buffer, kLong), 6u);
}

TEST_P(PollerTest, AReservedPortIsForThoseWhoKnow) {
  const auto reservation = *env_.sockets.reserve({"127.0.0.1", 0});
  EXPECT_FALSE(env_.sockets.listen(reservation->address()));
  EXPECT_FALSE(env_.sockets.connect(reservation->address(), kLong));
  for (int i = 0; i < 2; ++i) {
    const auto listener = env_.sockets.listen_reserved(reservation->address());
    ASSERT_TRUE(listener) << listener.error().to_string();
    EXPECT_TRUE(env_.sockets.connect(reservation->address(), kLong));
  }
}

TEST_P(PollerTest, APollerIsReadyForAnother) {
  const auto outer = *env_.pollers.make();
  const auto nested = *Watch::on(*outer, *poller_);
  const auto listener = *env_.sockets.listen({"127.0.0.1", 0});
  const auto watch = *Watch::on(*poller_, *listener);
  const Seconds start = env_.clock.monotonic();
  EXPECT_TRUE(outer->wait(kShort));
  EXPECT_GE((env_.clock.monotonic() - start).value(), kShort.value() * 0.99);
  const auto client = *env_.sockets.begin_connect(listener->address());
  EXPECT_TRUE(outer->wait(kLong));
  EXPECT_LT((env_.clock.monotonic() - start).value(), kLong.value());
}

TEST_P(PollerTest, TheEndOfAPeerIsReady) {
  const auto listener = *env_.sockets.listen({"127.0.0.1", 0});
  auto [client, server] = make_pair(*listener);
  const auto watch = *Watch::on(*poller_, *server);
  client.reset();
  EXPECT_TRUE(waits(kLong));
  std::array<char, 8> buffer;
  EXPECT_EQ(*server->receive_some(buffer), std::optional<std::size_t>(0));
}

TEST_P(PollerTest, AnEndedProcessIsReady) {
  const auto process = *env_.processes.spawn({.argv = {"sh", "-c", "sleep 0.1; exit 3"}});
  const auto watch = *Watch::on(*poller_, *process);
  EXPECT_TRUE(waits(kLong));
  EXPECT_EQ((*process->wait(Seconds(0)))->code, 3);
}

TEST_P(PollerTest, ARequestToEndIsReady) {
  const auto requests = *env_.processes.end_requests();
  const auto watch = *Watch::on(*poller_, *requests);
  EXPECT_FALSE(waits(kShort));
  if (GetParam()) {
    ::kill(::getpid(), SIGTERM);
  } else {
    sim_.processes.request_end();
  }
  EXPECT_TRUE(waits(kLong));
  EXPECT_EQ(requests->take(), 1);
  EXPECT_EQ(requests->take(), 0);
  EXPECT_FALSE(waits(kShort));
}

// What only a simulated network can do.

TEST(SimConnections, AConnectionOverACutCableIsMadeWhenItIsMended) {
  SimEnv sim("a");
  SimSockets other(sim.network, "b");
  const auto listener = *other.listen({"b", 80});
  sim.network.partition("a", "b");
  const auto client = *sim.sockets.begin_connect({"b", 80});
  sim.clock.advance(Seconds(5));
  EXPECT_EQ(*client->is_connected(), false);
  sim.network.heal("a", "b");
  sim.clock.advance(Seconds(1));
  EXPECT_EQ(*client->is_connected(), true);
  EXPECT_NE(*listener->accept_now(), nullptr);
}

TEST(SimConnections, SilenceEndsAConnectionAtBothEndsThatMind) {
  SimEnv sim("a");
  SimSockets other(sim.network, "b");
  const auto listener = *other.listen({"b", 80});
  const auto client = *sim.sockets.begin_connect({"b", 80});
  const auto server = *listener->accept(Seconds(1));
  sim.clock.advance(Seconds(1));
  client->notice_silence(Seconds(5));
  sim.network.partition("a", "b");
  sim.clock.advance(Seconds(3));
  EXPECT_TRUE(client->send_some("x"));
  sim.clock.advance(Seconds(3));
  EXPECT_FALSE(client->send_some("x"));
  EXPECT_TRUE(server->send_some("x"));
  sim.network.heal("a", "b");
  EXPECT_FALSE(client->send_some("x"));
}

}  // namespace
}  // namespace orrery::env
