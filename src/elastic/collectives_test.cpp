// Tests of what holds for the collectives of every session, independent of the transport.

#include "elastic/collectives/collectives.h"

#include <atomic>

#include "elastic/net/test_crew.h"
#include "elastic/test_crew.h"

namespace orrery::elastic {
namespace {

using Work = std::function<void(Collectives& session)>;

struct Carrier {
  const char* name;
  // Runs the work on this many threads, each with a session of the same generation.
  void (*run)(int ranks, const Work& work);
};

void run_in_memory(int ranks, const Work& work) {
  run_threads(ranks, tight_segment(ranks), [&](Session& session, Arena&) { work(session); });
}

void run_over_tcp(int ranks, const Work& work) {
  net::run_threads(ranks, net::tight_options(), [&](net::Session& session) { work(session); });
}

class EveryCarrier : public testing::TestWithParam<Carrier> {};

INSTANTIATE_TEST_SUITE_P(Collectives, EveryCarrier,
                         testing::Values(Carrier{"memory", run_in_memory}, Carrier{"tcp", run_over_tcp}),
                         [](const auto& carrier) { return carrier.param.name; });

// An operation named "x" that is not an all-reduce of this many floats.
struct Other {
  const char* what;
  std::function<Result<Ticket>(Collectives&, float*)> start;
};
const Other kOthers[] = {
    {"count",
     [](Collectives& s, float* data) {
       return s.all_reduce("x", {data, 4001, DataType::kF32}, ReduceOp::kSum);
     }},
    {"small",
     [](Collectives& s, float* data) {
       return s.all_reduce("x", {data, 5, DataType::kF32}, ReduceOp::kSum);
     }},
    {"type",
     [](Collectives& s, float* data) {
       return s.all_reduce("x", {data, 4000, DataType::kI32}, ReduceOp::kSum);
     }},
    {"op",
     [](Collectives& s, float* data) {
       return s.all_reduce("x", {data, 4000, DataType::kF32}, ReduceOp::kMax);
     }},
    {"kind",
     [](Collectives& s, float* data) {
       return s.broadcast("x", {data, 4000, DataType::kF32}, 1);
     }},
    {"barrier", [](Collectives& s, float*) { return s.barrier("x"); }},
};

TEST_P(EveryCarrier, DifferentDescriptionsAreAnErrorOnEveryRank) {
  GetParam().run(3, [&](Collectives& session) {
    for (const std::size_t count : {4000u, 100u}) {  // of many parts; of one
      for (const Other& other : kOthers) {
        for (int odd_one = 0; odd_one < 3; ++odd_one) {
          std::vector<float> data(5000, 1.0f);
          const TensorView tensor = {data.data(), count, DataType::kF32};
          const auto ticket = session.rank() == odd_one ? other.start(session, data.data())
                                                        : session.all_reduce("x", tensor, ReduceOp::kSum);
          ASSERT_TRUE(ticket);
          const Status status = session.wait(*ticket);
          ASSERT_FALSE(status) << other.what;
          EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument) << status.error().to_string();
          EXPECT_NE(status.error().message().find("\"x\" is not the same operation everywhere"), std::string::npos);
          // The generation continues, also for the same name, with all blocks and all credit available.
          for (int i = 0; i < 5; ++i) {
            std::fill(data.begin(), data.end(), 1.0f);
            ASSERT_TRUE(session.wait(*session.all_reduce("x", tensor, ReduceOp::kSum)));
            ASSERT_EQ(data[count - 1], 3.0f);
          }
        }
      }
    }
  });
}

TEST_P(EveryCarrier, ADisagreementNeedsNoThirdRankToShow) {
  std::atomic<bool> over = false;
  std::atomic<int> failed = 0;
  GetParam().run(3, [&](Collectives& session) {
    std::vector<float> data(100, 1.0f);
    // No rank leaves before all ranks are there.
    ASSERT_TRUE(session.wait(*session.barrier("all")));
    if (session.rank() == 2) {  // never starts it
      while (!over) std::this_thread::yield();
      return;
    }
    const std::size_t count = session.rank() == 0 ? 10 : 11;
    const Status status = session.wait(*session.all_reduce("x", {data.data(), count, DataType::kF32}, ReduceOp::kSum));
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    if (++failed == 2) over = true;
  });
}

TEST_P(EveryCarrier, ConsensusSaysWhetherAllBytesAreTheSame) {
  GetParam().run(4, [&](Collectives& session) {
    const std::string common(3000, 'a'), other = session.rank() == 3 ? common.substr(0, 2999) + "b" : common;
    bool first = false, second = true;
    const auto a = session.consensus("same", std::as_bytes(std::span(common)), first);
    const auto b = session.consensus("other", std::as_bytes(std::span(other)), second);
    ASSERT_TRUE(session.wait(*b));
    ASSERT_TRUE(session.wait(*a));
    EXPECT_TRUE(first);
    EXPECT_FALSE(second);
  });
}

TEST_P(EveryCarrier, HundredsOfNamesInDifferentOrders) {
  GetParam().run(3, [&](Collectives& session) {
    constexpr int kNames = 600;
    std::vector<std::vector<std::int64_t>> data(kNames);
    std::vector<Ticket> tickets(kNames);
    for (int i = 0; i < kNames; ++i) {
      const int at = session.rank() == 0 ? i : session.rank() == 1 ? kNames - 1 - i : (i * 7) % kNames;
      // Some can run at once, some wait for all ranks, some consist of many parts.
      auto& tensor = data[static_cast<std::size_t>(at)];
      tensor.assign(at % 10 == 0 ? 3000 : 20, at + session.rank());
      const auto ticket =
          session.all_reduce(std::to_string(at), {tensor.data(), tensor.size(), DataType::kI64}, ReduceOp::kSum);
      ASSERT_TRUE(ticket) << ticket.error().to_string();
      tickets[static_cast<std::size_t>(at)] = *ticket;
    }
    for (int at = 0; at < kNames; ++at) {
      ASSERT_TRUE(session.wait(tickets[static_cast<std::size_t>(at)]));
      for (const std::int64_t value : data[static_cast<std::size_t>(at)]) ASSERT_EQ(value, 3 * at + 3);
    }
  });
}

}  // namespace
}  // namespace orrery::elastic
