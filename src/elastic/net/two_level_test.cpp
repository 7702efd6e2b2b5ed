// Hosts are segments of shared memory in one process, ranks are threads.

#include "elastic/net/two_level.h"

#include <atomic>
#include <gtest/gtest.h>
#include <numeric>

#include "elastic/net/test_crew.h"
#include "elastic/test_crew.h"

namespace orrery::elastic::net {
namespace {

void run_hosts(const std::vector<int>& sizes, const std::function<void(TwoLevel& span, int host)>& work) {
  const auto hosts = static_cast<int>(sizes.size());
  Doors doors(hosts);
  std::vector<std::shared_ptr<Segment>> segments;
  for (const int size : sizes) segments.push_back(*Segment::create(tight_segment(size)));
  std::vector<std::thread> threads;
  for (int host = 0; host < hosts; ++host) {
    for (int slot = 0; slot < sizes[static_cast<std::size_t>(host)]; ++slot) {
      threads.emplace_back([&, host, slot] {
        auto seat = Seat::take(segments[static_cast<std::size_t>(host)], slot);
        ASSERT_TRUE(seat);
        auto local = elastic::Session::open(
            **seat, {.port = {.epoch = 1, .members = first_slots(sizes[static_cast<std::size_t>(host)])}});
        ASSERT_TRUE(local);
        std::unique_ptr<Session> between;
        if (slot == 0) {
          SessionOptions options = tight_options();
          options.mesh.rank = host;
          options.mesh.addresses = doors.addresses;
          auto opened = Session::open(doors.of(host), options);
          ASSERT_TRUE(opened) << opened.error().to_string();
          between = std::move(*opened);
        }
        auto span = TwoLevel::make(**local, between.get(), sizes, host);
        ASSERT_TRUE(span) << span.error().to_string();
        work(**span, host);
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TwoLevel, SumsUpOverAllProcessesOfAllHosts) {
  for (const std::vector<int>& sizes : {std::vector{2, 2}, std::vector{1, 3}, std::vector{3}, std::vector{1, 1, 2}}) {
    const int ranks = std::accumulate(sizes.begin(), sizes.end(), 0);
    run_hosts(sizes, [&](TwoLevel& span, int) {
      EXPECT_EQ(span.size(), ranks);
      for (const std::size_t count : {0u, 1u, 100u, 5000u}) {
        std::vector<std::int64_t> first(count + 1, span.rank()), second(count + 1, 1);
        const auto a = span.all_reduce("a", {first.data(), count, DataType::kI64}, ReduceOp::kMax);
        const auto b = span.all_reduce("b", {second.data(), count, DataType::kI64}, ReduceOp::kSum);
        ASSERT_TRUE(a && b);
        ASSERT_TRUE(span.wait(*b));
        const Status status = span.wait(*a);
        ASSERT_TRUE(status) << status.error().to_string();
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(first[i], ranks - 1);
          ASSERT_EQ(second[i], ranks);
        }
      }
    });
  }
}

TEST(TwoLevel, BroadcastsFromAnyRankAndMeets) {
  run_hosts({2, 3}, [&](TwoLevel& span, int) {
    for (int root = 0; root < 5; ++root) {
      std::vector<float> data(3000, static_cast<float>(span.rank()));
      const auto ticket = span.broadcast("b", {data.data(), data.size(), DataType::kF32}, root);
      ASSERT_TRUE(ticket) << ticket.error().to_string();
      const Status status = span.wait(*ticket);
      ASSERT_TRUE(status) << status.error().to_string();
      EXPECT_EQ(data.front(), static_cast<float>(root));
      EXPECT_EQ(data.back(), static_cast<float>(root));
    }
    ASSERT_TRUE(span.wait(*span.barrier("all")));
  });
}

TEST(TwoLevel, ADisagreementAnywhereIsAnErrorEverywhere) {
  for (int odd_one = 0; odd_one < 4; ++odd_one) {
    run_hosts({2, 2}, [&](TwoLevel& span, int) {
      std::vector<float> data(2000, 1.0f);
      const std::size_t count = span.rank() == odd_one ? 1999 : 2000;
      const auto ticket = span.all_reduce("x", {data.data(), count, DataType::kF32}, ReduceOp::kSum);
      ASSERT_TRUE(ticket);
      const Status status = span.wait(*ticket);
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument) << status.error().to_string();
      // The epoch goes on.
      std::fill(data.begin(), data.end(), 1.0f);
      const Status next = span.wait(*span.all_reduce("x", {data.data(), 2000, DataType::kF32}, ReduceOp::kSum));
      ASSERT_TRUE(next) << next.error().to_string();
      EXPECT_EQ(data[1999], 4.0f);
    });
  }
}

TEST(TwoLevel, WhoLeavesOneHostEndsTheEpochOnAll) {
  std::atomic<int> through = 0;
  run_hosts({2, 2}, [&](TwoLevel& span, int) {
    std::vector<float> data(2000, 1.0f);
    const TensorView tensor = {data.data(), data.size(), DataType::kF32};
    ASSERT_TRUE(span.wait(*span.all_reduce("x", tensor, ReduceOp::kSum)));
    for (through += 1; through < 4;) std::this_thread::yield();
    if (span.rank() == 3) return;
    const auto ticket = span.all_reduce("x", tensor, ReduceOp::kSum);
    const Status status = ticket ? span.wait(*ticket) : Status(ticket.error());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable) << status.error().to_string();
  });
}

}  // namespace
}  // namespace orrery::elastic::net
