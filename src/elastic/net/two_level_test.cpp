// Hosts are segments of shared memory in one process, ranks are threads.

#include "elastic/net/two_level.h"

#include <atomic>
#include <gtest/gtest.h>

#include "elastic/net/test_crew.h"
#include "elastic/test_crew.h"

namespace orrery::elastic::net {
namespace {

// `hosts` has the host of each rank.
void run_ranks(const std::vector<std::uint32_t>& hosts, const std::function<void(TwoLevel& span)>& work) {
  const HostLayout layout = HostLayout::from(hosts);
  Listeners listeners(static_cast<int>(layout.hosts.size()));
  std::vector<std::shared_ptr<Segment>> segments;
  for (const auto& ranks : layout.hosts)
    segments.push_back(*Segment::create(tight_segment(static_cast<int>(ranks.size()))));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
    threads.emplace_back([&, rank] {
      const int host = layout.host_of[static_cast<std::size_t>(rank)];
      const auto here = static_cast<int>(layout.hosts[static_cast<std::size_t>(host)].size());
      auto lease = SlotLease::take(segments[static_cast<std::size_t>(host)], layout.local_rank(rank));
      ASSERT_TRUE(lease);
      auto local = elastic::Session::open(**lease, {.endpoint = {.generation = 1, .workers = first_slots(here)}});
      ASSERT_TRUE(local);
      std::unique_ptr<Session> between;
      if (layout.leads(rank)) {
        SessionOptions options = tight_options();
        options.mesh.rank = host;
        options.mesh.addresses = listeners.addresses;
        auto opened = Session::open(listeners.of(host), options);
        ASSERT_TRUE(opened) << opened.error().to_string();
        between = std::move(*opened);
      }
      auto span = TwoLevel::make(std::move(*local), std::move(between), layout, rank);
      ASSERT_TRUE(span) << span.error().to_string();
      work(**span);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

const std::vector<std::vector<std::uint32_t>> kLayouts = {{0, 0, 1, 1}, {3, 7, 3, 7}, {0, 1, 1, 1},
                                                          {2, 2, 2},    {0, 1, 2, 2}, {1, 0, 2, 0, 1}};

TEST(HostLayout, HostsAreInTheOrderOfTheirFirstRanks) {
  const HostLayout layout = HostLayout::from({9, 4, 9, 4, 1});
  EXPECT_EQ(layout.hosts, (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4}}));
  EXPECT_EQ(layout.host_of, (std::vector<int>{0, 1, 0, 1, 2}));
  EXPECT_EQ(layout.local_rank(3), 1);
  EXPECT_TRUE(layout.leads(4));
  EXPECT_TRUE(layout.is_worth_it());
  EXPECT_FALSE(HostLayout::from({1, 1}).is_worth_it());
  EXPECT_FALSE(HostLayout::from({1, 2}).is_worth_it());
}

TEST(TwoLevel, SumsUpOverAllProcessesOfAllHosts) {
  for (const auto& hosts : kLayouts) {
    const auto ranks = static_cast<int>(hosts.size());
    run_ranks(hosts, [&](TwoLevel& span) {
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
  run_ranks({0, 1, 0, 1, 1}, [&](TwoLevel& span) {
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
    run_ranks({0, 1, 1, 0}, [&](TwoLevel& span) {
      std::vector<float> data(2000, 1.0f);
      const std::size_t count = span.rank() == odd_one ? 1999 : 2000;
      const auto ticket = span.all_reduce("x", {data.data(), count, DataType::kF32}, ReduceOp::kSum);
      ASSERT_TRUE(ticket);
      const Status status = span.wait(*ticket);
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument) << status.error().to_string();
      // The generation continues.
      std::fill(data.begin(), data.end(), 1.0f);
      const Status next = span.wait(*span.all_reduce("x", {data.data(), 2000, DataType::kF32}, ReduceOp::kSum));
      ASSERT_TRUE(next) << next.error().to_string();
      EXPECT_EQ(data[1999], 4.0f);
    });
  }
}

TEST(TwoLevel, GathersReducesAndScattersInRankOrder) {
  for (const auto& hosts : kLayouts) {
    const auto ranks = static_cast<int>(hosts.size());
    run_ranks(hosts, [&](TwoLevel& span) {
      constexpr std::size_t kCount = 300;
      const std::vector<float> own(kCount, static_cast<float>(span.rank()) - 0.5f);
      std::vector<float> all(kCount * hosts.size(), 7.0f), gathered(all), reduced(own), scattered(own);
      const TensorView whole = {all.data(), all.size(), DataType::kF32};
      const int root = ranks - 1;
      const auto a = span.all_gather("a", {own.data(), kCount, DataType::kF32}, whole);
      const auto b = span.gather("b", {own.data(), kCount, DataType::kF32},
                                 {gathered.data(), gathered.size(), DataType::kF32}, root);
      const auto c = span.reduce("c", {reduced.data(), kCount, DataType::kF32}, ReduceOp::kMin, root);
      const auto d = span.reduce_scatter("d", {scattered.data(), kCount, DataType::kF32}, ReduceOp::kMax);
      ASSERT_TRUE(a && b && c && d);
      // Each rank waits in another order.
      const std::array<Ticket, 4> tickets = {*a, *b, *c, *d};
      for (std::size_t i = 0; i < 4; ++i) {
        const Status status = span.wait(tickets[(i + static_cast<std::size_t>(span.rank())) % 4]);
        ASSERT_TRUE(status) << status.error().to_string();
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        const float expected = static_cast<float>(i / kCount) - 0.5f;
        ASSERT_EQ(all[i], expected);
        ASSERT_EQ(gathered[i], span.rank() == root ? expected : 7.0f);
      }
      EXPECT_TRUE(span.rank() != root || reduced[5] == -0.5f) << reduced[5];
      const Range slice = slice_of(kCount, span.rank(), ranks);
      for (std::uint64_t i = slice.begin; i < slice.end; ++i) ASSERT_EQ(scattered[i], static_cast<float>(root) - 0.5f);
    });
  }
}

// One rank starts its operations one after the other, the others all at once, and they wait for the last first.
TEST(TwoLevel, AnyOrderOfStartingAndWaitingIsFine) {
  for (int odd_one = 0; odd_one < 4; ++odd_one) {
    run_ranks({0, 1, 0, 1}, [&](TwoLevel& span) {
      const std::int64_t own = span.rank();
      std::vector<std::int64_t> all(4), sum(1, own);
      const auto gather = [&] {
        return span.all_gather("a", {&own, 1, DataType::kI64}, {all.data(), 4, DataType::kI64});
      };
      const auto reduce = [&] { return span.all_reduce("b", {sum.data(), 1, DataType::kI64}, ReduceOp::kSum); };
      if (span.rank() == odd_one) {
        ASSERT_TRUE(span.wait(*gather()));
        ASSERT_TRUE(span.wait(*reduce()));
      } else {
        const auto a = gather(), b = reduce();
        ASSERT_TRUE(span.wait(*b));
        ASSERT_TRUE(span.wait(*a));
      }
      EXPECT_EQ(all, (std::vector<std::int64_t>{0, 1, 2, 3}));
      EXPECT_EQ(sum[0], 6);
    });
  }
}

// Small operations overtake large ones; those of one name must not.
TEST(TwoLevel, ManyOfOneNameStayInOrder) {
  run_ranks({0, 1, 0, 1}, [&](TwoLevel& span) {
    std::vector<std::vector<std::int64_t>> tensors;
    std::vector<std::int64_t> all(4 * 40), owns(40);
    std::vector<Ticket> tickets;
    for (int i = 0; i < 40; ++i) {
      owns[static_cast<std::size_t>(i)] = span.rank() + i;
      const std::int64_t& own = owns[static_cast<std::size_t>(i)];
      tensors.emplace_back(i % 3 == 0 ? 9000 : 3, own);
      const auto sum =
          span.all_reduce("x", {tensors.back().data(), tensors.back().size(), DataType::kI64}, ReduceOp::kSum);
      const auto gathered = span.all_gather("x", {&own, 1, DataType::kI64}, {all.data() + 4 * i, 4, DataType::kI64});
      ASSERT_TRUE(sum && gathered);
      tickets.insert(tickets.end(), {*sum, *gathered});
      if (i % 8 != 7) continue;
      for (; !tickets.empty(); tickets.pop_back()) {
        const Status status = span.wait(tickets.back());
        ASSERT_TRUE(status) << status.error().to_string();
      }
    }
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(tensors[i].back(), static_cast<std::int64_t>(6 + 4 * i));
      EXPECT_EQ(all[4 * i + 3], static_cast<std::int64_t>(3 + i));
    }
  });
}

TEST(TwoLevel, AgreesOnBytesOrNot) {
  for (int odd_one = -1; odd_one < 4; ++odd_one) {
    run_ranks({0, 1, 0, 1}, [&](TwoLevel& span) {
      const std::string text = span.rank() == odd_one ? "other" : "same";
      bool agreed = odd_one >= 0;
      const auto ticket = span.consensus("c", std::as_bytes(std::span(text)), agreed);
      ASSERT_TRUE(ticket);
      const Status status = span.wait(*ticket);
      ASSERT_TRUE(status) << status.error().to_string();
      EXPECT_EQ(agreed, odd_one < 0) << odd_one;
    });
  }
}

TEST(TwoLevel, DifferentOperationsOfOneNameAreAnErrorEverywhere) {
  for (int odd_one = 0; odd_one < 4; ++odd_one) {
    run_ranks({0, 1, 0, 1}, [&](TwoLevel& span) {
      std::vector<float> data(100, 1.0f);
      const TensorView tensor = {data.data(), data.size(), DataType::kF32};
      const auto different = [&](const auto& usual, const auto& other) {
        const auto ticket = span.rank() == odd_one ? other() : usual();
        ASSERT_TRUE(ticket);
        const Status status = span.wait(*ticket);
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument) << status.error().to_string();
      };
      const auto all_reduce = [&] { return span.all_reduce("x", tensor, ReduceOp::kSum); };
      const auto scatter = [&] { return span.reduce_scatter("x", tensor, ReduceOp::kSum); };
      const auto to_first = [&] { return span.reduce("x", tensor, ReduceOp::kSum, 0); };
      const auto to_third = [&] { return span.reduce("x", tensor, ReduceOp::kSum, 2); };
      const auto barrier = [&] { return span.barrier("x"); };
      different(all_reduce, scatter);
      different(scatter, to_first);
      different(to_first, to_third);
      different(barrier, scatter);
      different(barrier, all_reduce);
      different(all_reduce, barrier);
    });
  }
}

TEST(TwoLevel, LeavingOneHostEndsTheGenerationOnAll) {
  std::atomic<int> through = 0;
  run_ranks({0, 1, 1, 0}, [&](TwoLevel& span) {
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
