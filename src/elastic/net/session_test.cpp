#include "elastic/net/session.h"

#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>

#include "elastic/net/test_crew.h"
#include "elastic/test_oracle.h"

namespace orrery::elastic::net {
namespace {

struct Planned {
  std::string name;
  Descriptor descriptor{};
  std::vector<TensorBytes> inputs{};  // by rank
};

TensorBytes joined(const std::vector<TensorBytes>& parts) {
  TensorBytes all;
  for (const TensorBytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// What `rank` must have in the end; empty if that is undefined.
TensorBytes expected(const Planned& plan, int rank) {
  const Descriptor& what = plan.descriptor;
  const bool is_root = rank == what.root;
  switch (what.collective) {
    case Collective::kAllReduce:
      return combined(what.type, what.op, plan.inputs);
    case Collective::kReduceScatter: {
      const TensorBytes all = combined(what.type, what.op, plan.inputs);
      const Range mine = owned(what, rank, static_cast<int>(plan.inputs.size()));
      return {all.begin() + static_cast<std::ptrdiff_t>(mine.begin),
              all.begin() + static_cast<std::ptrdiff_t>(mine.end)};
    }
    case Collective::kReduce:
      return is_root ? combined(what.type, what.op, plan.inputs) : TensorBytes{};
    case Collective::kAllGather:
      return joined(plan.inputs);
    case Collective::kGather:
      return is_root ? joined(plan.inputs) : TensorBytes{};
    case Collective::kBroadcast:
      return plan.inputs[what.root];
    default:
      return {};
  }
}

// A rank's memory for one operation.
struct Memory {
  TensorBytes input, output;
  Memory(const Planned& plan, int rank) : input(plan.inputs[static_cast<std::size_t>(rank)]) {
    output.resize(input.size() * plan.inputs.size() + 1);
    input.push_back({});  // never without an address
  }
};

Result<Ticket> start(Session& session, const Planned& plan, Memory& memory) {
  const Descriptor& what = plan.descriptor;
  const TensorView tensor = {memory.input.data(), what.count, what.type};
  const TensorView all = {memory.output.data(), what.count * static_cast<std::size_t>(session.size()), what.type};
  switch (what.collective) {
    case Collective::kAllReduce:
      return session.all_reduce(plan.name, tensor, what.op);
    case Collective::kReduceScatter:
      return session.reduce_scatter(plan.name, tensor, what.op);
    case Collective::kReduce:
      return session.reduce(plan.name, tensor, what.op, what.root);
    case Collective::kAllGather:
      return session.all_gather(plan.name, tensor, all);
    case Collective::kGather:
      return session.gather(plan.name, tensor, all, what.root);
    case Collective::kBroadcast:
      return session.broadcast(plan.name, tensor, what.root);
    default:
      return session.barrier(plan.name);
  }
}

TensorBytes result_of(const Planned& plan, const Memory& memory, int rank) {
  const Descriptor& what = plan.descriptor;
  const std::byte* from = memory.input.data();
  if (what.collective == Collective::kAllGather || what.collective == Collective::kGather) from = memory.output.data();
  if (what.collective == Collective::kReduceScatter) {
    from += owned(what, rank, static_cast<int>(plan.inputs.size())).begin;
  }
  return {from, from + expected(plan, rank).size()};
}

std::vector<Planned> make_plan(Random& random, int ranks, std::size_t operations, std::size_t names) {
  constexpr std::uint64_t kCounts[] = {0, 1, 7, 63, 64, 65, 255, 1021, 4096, 20'011};
  std::vector<Planned> plan;
  for (std::size_t i = 0; i < operations; ++i) {
    Planned next;
    next.name = "t" + std::to_string(random.below(names));
    Descriptor& what = next.descriptor;
    what.collective = static_cast<Collective>(random.below(7));
    what.type = kDataTypes[random.below(kDataTypes.size())];
    what.count = kCounts[random.below(std::size(kCounts))];
    // With every algorithm, these have the same result.
    if (reduces(what.collective)) {
      constexpr ReduceOp kExact[] = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax};
      what.op = kExact[random.below(std::size(kExact))];
    }
    if (has_root(what.collective)) {
      what.root = static_cast<std::uint16_t>(random.below(static_cast<std::uint64_t>(ranks)));
    }
    if (what.collective == Collective::kBarrier) what = {};
    for (int rank = 0; rank < ranks; ++rank) {
      next.inputs.push_back(random_tensor(random, what.type, what.count, false));
    }
    plan.push_back(std::move(next));
  }
  return plan;
}

// Operations of one name keep their order; apart from that, any order.
std::vector<std::size_t> shuffled(Random& random, const std::vector<Planned>& plan) {
  std::vector<std::size_t> order(plan.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  std::map<std::string, std::vector<std::size_t>> by_name;
  for (const std::size_t at : order) by_name[plan[at].name].push_back(at);
  for (auto& [name, indices] : by_name) std::sort(indices.begin(), indices.end(), std::greater<>());
  for (std::size_t& at : order) {
    auto& left = by_name[plan[at].name];
    at = left.back();
    left.pop_back();
  }
  return order;
}

// Every rank starts and waits in its own order.
void expect_plan(Session& session, const std::vector<Planned>& plan, std::uint64_t seed) {
  Random own = Random(seed).split(static_cast<std::uint64_t>(session.rank()));
  std::map<std::size_t, std::pair<Ticket, std::unique_ptr<Memory>>> tickets;
  for (const std::size_t at : shuffled(own, plan)) {
    auto memory = std::make_unique<Memory>(plan[at], session.rank());
    const auto ticket = start(session, plan[at], *memory);
    ASSERT_TRUE(ticket) << ticket.error().to_string();
    tickets[at] = {*ticket, std::move(memory)};
  }
  while (!tickets.empty()) {
    auto next = std::next(tickets.begin(), static_cast<std::ptrdiff_t>(own.below(tickets.size())));
    const auto& [at, started] = *next;
    const Status status = session.wait(started.first);
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_TRUE(same_values(plan[at].descriptor.type, result_of(plan[at], *started.second, session.rank()),
                            expected(plan[at], session.rank())))
        << "rank " << session.rank() << ": " << to_string(plan[at].descriptor);
    tickets.erase(next);
  }
}

TEST(NetSession, EveryCollectiveAgreesWithTheOracleInAnyOrder) {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    const std::uint64_t seed = 4711 + static_cast<std::uint64_t>(ranks);
    Random random(seed);
    const std::vector<Planned> plan = make_plan(random, ranks, 60, 8);
    run_threads(ranks, tight_options(), [&](Session& session) { expect_plan(session, plan, seed); });
  }
}

TEST(NetSession, EveryAlgorithmAgreesWithTheOracle) {
  for (const int ranks : {2, 3, 4, 9}) {
    const std::uint64_t seed = 815 + static_cast<std::uint64_t>(ranks);
    Random random(seed);
    const std::vector<Planned> plan = make_plan(random, ranks, 25, 8);
    run_threads(ranks, tight_options(), [&](Session& session) {
      for (int which = 0; which < kAlgorithms; ++which) {
        const auto algorithm = static_cast<Algorithm>(which);
        if (algorithm == Algorithm::kGivenTree) {
          std::vector<int> chain(static_cast<std::size_t>(ranks));
          std::iota(chain.begin(), chain.end(), -1);
          ASSERT_TRUE(session.set_tree(chain));
        } else {
          ASSERT_TRUE(session.set_algorithm(algorithm));
        }
        expect_plan(session, plan, seed);
      }
    });
  }
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

TEST(NetSession, ARankThatNeverReadsStopsTheOthersAtTheirCredit) {
  // Early data of 1 KiB each: with 8 KiB of credit per rank, eight are sent, and all others wait in our own memory.
  std::atomic<bool> over = false;
  run_threads(2, tight_options(), [&](Session& session) {
    if (session.rank() == 1) {
      while (!over) std::this_thread::yield();
      session.revoke("the test is over");
      return;
    }
    std::vector<std::byte> data(1 << 10);
    const std::uint64_t before = resident_bytes(), sent_before = session.bytes_sent();
    constexpr int kOperations = 4000;
    for (int i = 0; i < kOperations; ++i) {
      const auto ticket =
          session.all_reduce("x" + std::to_string(i), {data.data(), data.size(), DataType::kI8}, ReduceOp::kSum);
      ASSERT_TRUE(ticket) << ticket.error().to_string();
    }
    // Besides announcements no more than the credit was sent.
    const std::uint64_t announcements = kOperations * (kHeaderBytes + kAnnouncementBytes);
    EXPECT_LE(session.bytes_sent() - sent_before, announcements + (8 << 10) + 100 * kHeaderBytes);
    EXPECT_LE(resident_bytes() - std::min(before, resident_bytes()), 16u << 20);
    over = true;
  });
}

TEST(NetSession, ALargeTensorForARankThatDoesNotReadWaitsInItsOwnMemory) {
  std::atomic<bool> started = false, over = false;
  run_threads(2, tight_options(), [&](Session& session) {
    std::vector<float> data(8 << 20, 1.0f);  // 32 MiB
    const auto ticket = session.all_reduce("x", {data.data(), data.size(), DataType::kF32}, ReduceOp::kSum);
    ASSERT_TRUE(ticket);
    if (session.rank() == 1) {
      started = true;
      while (!over) std::this_thread::yield();
    } else {
      while (!started) std::this_thread::yield();
      const std::uint64_t before = resident_bytes();
      for (int i = 0; i < 2000; ++i) ASSERT_TRUE(session.poll(*ticket));
      EXPECT_LE(resident_bytes() - std::min(before, resident_bytes()), 8u << 20);
      over = true;
    }
    ASSERT_TRUE(session.wait(*ticket));
    EXPECT_EQ(data.front(), 2.0f);
    EXPECT_EQ(data.back(), 2.0f);
  });
}

TEST(NetSession, AnOperationTheOthersNeverStartEndsAtALimit) {
  std::atomic<bool> over = false;
  run_threads(2, tight_options(), [&](Session& session) {
    if (session.rank() == 1) {
      while (!over) {
        // The other rank leaves, which ends the generation, as soon as it has reported its end.
        const auto moved = session.progress();
        ASSERT_TRUE(moved || over) << moved.error().to_string();
      }
      return;
    }
    std::vector<float> data(1);
    std::size_t started = 0;
    for (;; ++started) {
      const auto ticket =
          session.all_reduce("x" + std::to_string(started % 3), {data.data(), 1, DataType::kF32}, ReduceOp::kSum);
      if (!ticket) {
        EXPECT_EQ(ticket.error().code(), ErrorCode::kInfeasible);
        break;
      }
      ASSERT_LE(started, Session::kTicketsMax);
    }
    EXPECT_EQ(started, Session::kTicketsMax);
    over = true;
  });
}

TEST(NetSession, LeavingWithWorkUnfinishedRevokesTheGeneration) {
  std::atomic<int> through = 0;
  run_threads(3, tight_options(), [&](Session& session) {
    std::vector<float> data(10);
    const TensorView tensor = {data.data(), data.size(), DataType::kF32};
    ASSERT_TRUE(session.wait(*session.all_reduce("x", tensor, ReduceOp::kSum)));
    for (through += 1; through < 3;) std::this_thread::yield();
    if (session.rank() == 1) return;
    const auto ticket = session.all_reduce("x", tensor, ReduceOp::kSum);
    const Status status = ticket ? session.wait(*ticket) : Status(ticket.error());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable);
    EXPECT_TRUE(session.revoked());
    EXPECT_FALSE(session.barrier("y"));
  });
}

TEST(NetSession, ARankThatIsDoneMayLeaveBeforeTheOthers) {
  for (int round = 0; round < 10; ++round) {
    run_threads(3, tight_options(), [&](Session& session) {
      std::vector<float> data(20'000, 1.0f);
      for (int i = 0; i < 3; ++i) {
        const Status status =
            session.wait(*session.all_reduce("x", {data.data(), data.size(), DataType::kF32}, ReduceOp::kMax));
        ASSERT_TRUE(status) << status.error().to_string();
      }
      if (session.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
  }
}

TEST(NetSession, MissingNamesTheRanksThatAllOthersWaitFor) {
  std::atomic<bool> looked = false;
  run_threads(3, tight_options(), [&](Session& session) {
    if (session.rank() == 2) {
      while (!looked) std::this_thread::yield();
    }
    const auto ticket = session.barrier("b");
    ASSERT_TRUE(ticket);
    if (session.rank() == 0) {
      while (session.missing(*ticket) != std::vector<int>{2}) ASSERT_TRUE(session.poll(*ticket));
      looked = true;
    }
    ASSERT_TRUE(session.wait(*ticket));
  });
}

TEST(NetSession, GenerationsFollowEachOtherWithOtherWorkers) {
  Listeners listeners(4);
  std::vector<std::thread> threads;
  for (int self = 0; self < 4; ++self) {
    threads.emplace_back([&, self] {
      // All ranks; then without 1; then in another order; then all again. They do not wait for each other in between,
      // so some connect for a generation that others have not begun.
      const std::vector<std::vector<int>> memberships = {{0, 1, 2, 3}, {0, 2, 3}, {3, 2, 0}, {0, 1, 2, 3}};
      for (std::size_t i = 0; i < memberships.size(); ++i) {
        const auto mine = std::find(memberships[i].begin(), memberships[i].end(), self);
        if (mine == memberships[i].end()) continue;
        SessionOptions options = tight_options();
        options.mesh.generation = 10 + i;
        options.mesh.rank = static_cast<int>(mine - memberships[i].begin());
        for (const int worker : memberships[i]) {
          options.mesh.addresses.push_back(listeners.addresses[static_cast<std::size_t>(worker)]);
        }
        auto session = Session::open(listeners.of(self), options);
        ASSERT_TRUE(session) << session.error().to_string();
        std::vector<std::int32_t> data(3000, 1);
        ASSERT_TRUE(
            (*session)->wait(*(*session)->all_reduce("x", {data.data(), data.size(), DataType::kI32}, ReduceOp::kSum)));
        EXPECT_EQ(data[2999], static_cast<std::int32_t>(memberships[i].size()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(NetSession, EveryRankChoosesByTheSameMeasurement) {
  std::mutex mutex;
  std::vector<std::vector<Algorithm>> chosen;
  SessionOptions options;
  options.mesh.ranks_here = 64;
  run_threads(3, options, [&](Session& session) {
    ASSERT_TRUE(session.measure(Session::kMeasuringMax));
    std::vector<Algorithm> own;
    for (std::uint64_t bytes = 1; bytes < 1ULL << 32; bytes *= 2) {
      for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kBroadcast}) {
        own.push_back(session.choice().pick({collective, DataType::kI8, ReduceOp::kSum, 0, bytes}));
      }
    }
    std::vector<float> data(100'000, 1.0f);
    ASSERT_TRUE(session.wait(*session.all_reduce("x", {data.data(), data.size(), DataType::kF32}, ReduceOp::kSum)));
    EXPECT_EQ(data[99'999], 3.0f);
    const std::lock_guard lock(mutex);
    chosen.push_back(own);
  });
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[0], chosen[1]);
  EXPECT_EQ(chosen[0], chosen[2]);
}

TEST(NetSession, TreesThatDifferOrAreNoneAreRefusedByAll) {
  run_threads(3, tight_options(), [&](Session& session) {
    EXPECT_FALSE(session.set_tree({-1, 0}));
    EXPECT_FALSE(session.set_tree({-1, 2, 1}));
    const Status different = session.set_tree(session.rank() == 2 ? std::vector{-1, 0, 1} : std::vector{-1, 0, 0});
    ASSERT_FALSE(different);
    EXPECT_EQ(different.error().message(), "ranks gave different trees");
    const auto ticket = session.barrier("b");
    EXPECT_EQ(session.measure(Session::kMeasuringMax).error().code(),
              ErrorCode::kInvalidArgument);  // an operation is unfinished
    ASSERT_TRUE(session.wait(*ticket));
  });
}

TEST(NetSession, PublishedTensorsCanBePulledByVersion) {
  run_threads(3, tight_options(), [&](Session& session) {
    std::vector<float> own(50'000);
    for (std::uint64_t version = 1; version <= 3; ++version) {
      std::fill(own.begin(), own.end(), static_cast<float>(100 * session.rank()) + static_cast<float>(version));
      ASSERT_TRUE(session.publish("model", version, TensorView{own.data(), own.size(), DataType::kF32}));
    }
    EXPECT_FALSE(session.publish("model", 3, TensorView{own.data(), own.size(), DataType::kF32}));
    ASSERT_TRUE(session.wait(*session.barrier("published")));
    for (int from = 0; from < 3; ++from) {
      std::vector<float> got(50'000);
      const TensorView room = {got.data(), got.size(), DataType::kF32};
      auto version = session.wait(*session.pull(from, "model", 2, room));
      ASSERT_TRUE(version) << version.error().to_string();
      EXPECT_EQ(got[0], static_cast<float>(100 * from + 2));
      EXPECT_EQ(got[49'999], got[0]);
      version = session.wait(*session.pull(from, "model", kLatest, room));
      ASSERT_TRUE(version);
      EXPECT_EQ(*version, 3u);
      EXPECT_EQ(got[49'999], static_cast<float>(100 * from + 3));
      // Version 1 is gone, and there is no other name.
      auto missing = session.wait(*session.pull(from, "model", 1, room));
      ASSERT_FALSE(missing);
      EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
      EXPECT_EQ(missing.error().message(),
                "rank " + std::to_string(from) + " has no version 1 of \"model\"; its latest is 3");
      EXPECT_EQ(session.wait(*session.pull(from, "other", kLatest, room)).error().code(), ErrorCode::kNotFound);
      const auto short_room = session.wait(*session.pull(from, "model", 3, {got.data(), 10, DataType::kF32}));
      EXPECT_EQ(short_room.error().code(), ErrorCode::kInvalidArgument);
    }
    ASSERT_TRUE(session.wait(*session.barrier("pulled")));  // serves the others meanwhile
  });
}

TEST(NetSession, WrongArgumentsAreErrorsAtOnce) {
  run_threads(1, tight_options(), [&](Session& session) {
    std::vector<float> data(4);
    const TensorView tensor = {data.data(), 4, DataType::kF32};
    EXPECT_FALSE(session.broadcast("x", tensor, 1));
    EXPECT_FALSE(session.reduce("x", tensor, ReduceOp::kSum, -1));
    EXPECT_FALSE(session.all_gather("x", tensor, {data.data(), 3, DataType::kF32}));
    EXPECT_FALSE(session.all_reduce("x", {nullptr, 4, DataType::kF32}, ReduceOp::kSum));
    EXPECT_FALSE(session.all_reduce("x", {data.data(), std::size_t{1} << 60, DataType::kF32}, ReduceOp::kSum));
    const auto ticket = session.all_reduce("x", tensor, ReduceOp::kSum);
    EXPECT_TRUE(session.wait(*ticket));
    EXPECT_FALSE(session.wait(*ticket));
    EXPECT_FALSE(session.pull(1, "x", 1, tensor));
  });
}

}  // namespace
}  // namespace orrery::elastic::net
