#include "profile/distributed/parameter_server.h"

#include <gtest/gtest.h>
#include <thread>

#include "env/env.h"
#include "profile/distributed/exchange.h"

namespace orrery::profile {
namespace {

constexpr double kRate = 0.5;
constexpr Seconds kHang{120};  // a peer that has not come or said anything for so long

TEST(Shards, CoverEverythingOnce) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Shard shard = shard_of(10, i, 3);
    EXPECT_EQ(shard.begin, next);
    EXPECT_NEAR(static_cast<double>(shard.size()), 10.0 / 3, 1);
    next = shard.end;
  }
  EXPECT_EQ(next, 10U);
}

// Worker r sends gradients of r + 1, `steps` times; the parameters start at 0. Returns what the last answers were.
std::vector<std::vector<float>> exchange_constants(UpdateMode mode, std::uint32_t workers, int steps) {
  const env::Env env = env::make_real_env();
  const auto listener = *env.sockets.listen({"127.0.0.1", 0});
  constexpr std::size_t kParameters = 1000;
  std::vector<std::vector<float>> parameters(workers, std::vector<float>(kParameters));
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      const auto exchange =
          *connect_to_servers(env.sockets, env.clock, {rank, workers, {listener->address()}, kHang, kHang});
      EXPECT_TRUE(exchange->start(parameters[rank]));
      const std::vector<float> gradients(kParameters, static_cast<float>(rank + 1));
      for (int i = 0; i < steps; ++i) EXPECT_TRUE(exchange->step(gradients, parameters[rank]));
      EXPECT_TRUE(exchange->finish());
    });
  }
  const auto report = serve(*listener, env.clock, {kParameters, workers, mode, kRate, kHang, kHang});
  EXPECT_TRUE(report);
  EXPECT_EQ(report->updates, mode == UpdateMode::kSync ? steps : steps * static_cast<int>(workers));
  threads.clear();
  return parameters;
}

// Three workers send 1, 2 and 3: each of the 4 steps subtracts 0.5 × 2.
TEST(ParameterServer, SynchronousAppliesTheMean) {
  for (const auto& parameters : exchange_constants(UpdateMode::kSync, 3, 4)) {
    EXPECT_EQ(parameters, std::vector<float>(1000, -4));
  }
}

// All 4 × (1 + 2 + 3) × 0.5 are subtracted when the last answer is sent.
TEST(ParameterServer, AsynchronousAppliesEverything) {
  float lowest = 0;
  for (const auto& parameters : exchange_constants(UpdateMode::kAsync, 3, 4)) {
    lowest = std::min(lowest, parameters[0]);
    EXPECT_EQ(parameters, std::vector<float>(1000, parameters[0]));
  }
  EXPECT_EQ(lowest, -12);
}

TEST(ParameterServer, AWorkerThatLeavesEndsTheOthers) {
  const env::Env env = env::make_real_env();
  const auto listener = *env.sockets.listen({"127.0.0.1", 0});
  Status served;
  Status second;
  {
    const std::jthread server([&] {
      const auto report = serve(*listener, env.clock, {8, 2, UpdateMode::kSync, kRate, kHang, kHang});
      if (!report) served = report.error();
    });
    const auto join = [&](std::uint32_t rank) {
      return *connect_to_servers(env.sockets, env.clock, {rank, 2, {listener->address()}, kHang, kHang});
    };
    const std::jthread stays([&] {
      std::vector<float> parameters(8);
      const auto exchange = join(1);
      second = exchange->start(parameters);
      if (second) second = exchange->step(std::vector<float>(8), parameters);
    });
    std::vector<float> parameters(8);
    auto leaves = join(0);
    ASSERT_TRUE(leaves->start(parameters));
    leaves.reset();
  }
  ASSERT_FALSE(served);
  EXPECT_NE(served.error().to_string().find("serving worker 0"), std::string::npos);
  EXPECT_FALSE(second);
}

TEST(ParameterServer, PeersOfOtherJobsAreDropped) {
  const env::Env env = env::make_real_env();
  const auto listener = *env.sockets.listen({"127.0.0.1", 0});
  const auto stranger = *env.sockets.connect(listener->address(), kHang);
  ASSERT_TRUE(stranger->send("GET / HTTP/1.1\r\n\r\n", kHang));
  Status worked;
  const std::jthread worker([&] {
    std::vector<float> parameters(8);
    const auto exchange = *connect_to_servers(env.sockets, env.clock, {0, 1, {listener->address()}, kHang, kHang});
    worked = exchange->start(parameters);
    if (worked) worked = exchange->finish();
  });
  const auto report = serve(*listener, env.clock, {8, 1, UpdateMode::kSync, kRate, kHang, kHang});
  EXPECT_TRUE(report) << report.error().to_string();
}

}  // namespace
}  // namespace orrery::profile
