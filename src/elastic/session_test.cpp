#include "elastic/session.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "elastic/test_crew.h"
#include "elastic/test_oracle.h"

namespace orrery::elastic {
namespace {

// One operation of a plan that all ranks carry out.
struct Planned {
  std::string name;
  Descriptor descriptor;
  std::vector<bool> in_arena;       // by rank
  std::vector<TensorBytes> inputs;  // by rank
  TensorBytes expected(int rank) const;
};

TensorBytes joined(const std::vector<TensorBytes>& parts) {
  TensorBytes all;
  for (const TensorBytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// What `rank` must have in the end; empty if that is undefined.
TensorBytes Planned::expected(int rank) const {
  const bool is_root = rank == descriptor.root;
  switch (descriptor.collective) {
    case Collective::kAllReduce:
      return combined(descriptor.type, descriptor.op, inputs);
    case Collective::kReduceScatter: {
      const TensorBytes all = combined(descriptor.type, descriptor.op, inputs);
      const Range mine = owned(descriptor, rank, static_cast<int>(inputs.size()));
      return {all.begin() + static_cast<std::ptrdiff_t>(mine.begin),
              all.begin() + static_cast<std::ptrdiff_t>(mine.end)};
    }
    case Collective::kReduce:
      return is_root ? combined(descriptor.type, descriptor.op, inputs) : TensorBytes{};
    case Collective::kAllGather:
      return joined(inputs);
    case Collective::kGather:
      return is_root ? joined(inputs) : TensorBytes{};
    case Collective::kBroadcast:
      return inputs[descriptor.root];
    default:
      return {};
  }
}

// A rank's memory for one planned operation, private or in the arena.
struct Memory {
  TensorBytes owned_input, owned_output;
  ArenaBuffer shared_input;
  std::byte *input = nullptr, *output = nullptr;

  Memory(const Planned& plan, int rank, Arena& arena) {
    const TensorBytes& source = plan.inputs[static_cast<std::size_t>(rank)];
    if (plan.in_arena[static_cast<std::size_t>(rank)]) {
      shared_input = *arena.allocate(source.size());
      input = shared_input.data();
    } else {
      owned_input.resize(source.size() + 1);  // never without an address
      input = owned_input.data();
    }
    std::copy(source.begin(), source.end(), input);
    owned_output.resize(source.size() * plan.inputs.size() + 1);
    output = owned_output.data();
  }
};

Result<Ticket> start(Session& session, const Planned& plan, const Memory& memory) {
  const Descriptor& what = plan.descriptor;
  const TensorView tensor = {memory.input, what.count, what.type};
  const TensorView all = {memory.output, what.count * static_cast<std::size_t>(session.size()), what.type};
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

TensorBytes result_of(const Planned& plan, const Memory& memory, int rank, int ranks) {
  const Descriptor& what = plan.descriptor;
  const TensorBytes expected = plan.expected(rank);
  const std::byte* from = memory.input;
  if (what.collective == Collective::kAllGather || what.collective == Collective::kGather) from = memory.output;
  if (what.collective == Collective::kReduceScatter) from += owned(what, rank, ranks).begin;
  return {from, from + expected.size()};
}

std::vector<Planned> make_plan(Random& random, int ranks) {
  constexpr std::uint64_t kCounts[] = {0, 1, 7, 63, 64, 65, 255, 1021, 4096, 20'011};
  std::vector<Planned> plan;
  const std::size_t operations = 1 + random.below(12);
  for (std::size_t i = 0; i < operations; ++i) {
    Planned next;
    next.name = "t" + std::to_string(random.below(4));
    Descriptor& what = next.descriptor;
    what.collective = static_cast<Collective>(random.below(7));
    what.type = kDataTypes[random.below(kDataTypes.size())];
    what.count = kCounts[random.below(std::size(kCounts))];
    if (reduces(what.collective)) what.op = kReduceOps[random.below(kReduceOps.size())];
    if (has_root(what.collective))
      what.root = static_cast<std::uint16_t>(random.below(static_cast<std::uint64_t>(ranks)));
    if (what.collective == Collective::kBarrier) what = {};
    const auto arena = random.below(3);  // none, all, some
    for (int rank = 0; rank < ranks; ++rank) {
      next.in_arena.push_back(arena == 1 || (arena == 2 && random.below(2) == 0));
      next.inputs.push_back(random_tensor(random, what.type, what.count, random.below(2) == 0));
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

// Every rank starts and waits in its own order, waiting for some operations before it starts others.
RC_GTEST_PROP(Session, EveryCollectiveAgreesWithTheOracleInAnyOrder, ()) {
  const int ranks = *rc::gen::inRange(1, 6);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  Random random(seed);
  const std::vector<Planned> plan = make_plan(random, ranks);
  std::mutex mutex;
  std::vector<std::string> failures;
  run_threads(ranks, tight_segment(ranks), [&](Session& session, Arena& arena) {
    Random own = Random(seed).split(static_cast<std::uint64_t>(session.rank()));
    const auto fail = [&](const std::string& text) {
      const std::lock_guard lock(mutex);
      failures.push_back("rank " + std::to_string(session.rank()) + ": " + text);
    };
    std::map<std::size_t, std::pair<Ticket, std::unique_ptr<Memory>>> tickets;
    for (const std::size_t at : shuffled(own, plan)) {
      auto memory = std::make_unique<Memory>(plan[at], session.rank(), arena);
      const auto ticket = start(session, plan[at], *memory);
      if (!ticket) return fail(ticket.error().to_string());
      tickets[at] = {*ticket, std::move(memory)};
    }
    while (!tickets.empty()) {
      auto next = std::next(tickets.begin(), static_cast<std::ptrdiff_t>(own.below(tickets.size())));
      const auto& [at, started] = *next;
      const Status status = session.wait(started.first);
      if (!status) return fail(status.error().to_string());
      const Planned& planned = plan[at];
      if (!same_values(planned.descriptor.type, result_of(planned, *started.second, session.rank(), ranks),
                       planned.expected(session.rank()))) {
        fail(to_string(planned.descriptor) + " gave something else");
      }
      tickets.erase(next);
    }
  });
  for (const std::string& failure : failures) RC_LOG() << failure << "\n";
  RC_ASSERT(failures.empty());
}

TEST(Session, AllReduceIsInRankOrderByEveryAlgorithm) {
  // Added in another order, these give another sum: (1e8 + 1) − 1e8 is 0 in f32, 1e8 − 1e8 + 1 is 1.
  constexpr std::size_t kCount = 5000;
  const std::vector<float> values = {1e8f, 1.0f, -1e8f};
  for (const std::uint64_t inline_bytes : {std::uint64_t{0}, std::uint64_t{16} << 10}) {
    for (const bool in_arena : {false, true}) {
      SegmentOptions options = tight_segment(3);
      options.inline_bytes = inline_bytes;
      run_threads(3, options, [&](Session& session, Arena& arena) {
        auto shared = *arena.allocate(kCount * sizeof(float));
        std::vector<float> own(kCount);
        float* const data = in_arena ? reinterpret_cast<float*>(shared.data()) : own.data();
        const std::size_t count = inline_bytes == 0 ? kCount : 1000;
        std::fill_n(data, count, values[static_cast<std::size_t>(session.rank())]);
        ASSERT_TRUE(session.wait(*session.all_reduce("g", {data, count, DataType::kF32}, ReduceOp::kSum)));
        EXPECT_EQ(std::count(data, data + count, 0.0f), static_cast<std::ptrdiff_t>(count));
      });
    }
  }
}

TEST(Session, AnOperationTheOthersNeverStartEndsAtALimit) {
  std::atomic<bool> over = false;
  run_threads(2, tight_segment(2), [&](Session& session, Arena&) {
    if (session.rank() == 1) {
      while (!over) std::this_thread::yield();
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

TEST(Session, LeavingWithWorkUnfinishedRevokesTheGeneration) {
  run_threads(3, tight_segment(3), [&](Session& session, Arena&) {
    std::vector<float> data(10);
    const TensorView tensor = {data.data(), data.size(), DataType::kF32};
    ASSERT_TRUE(session.wait(*session.all_reduce("x", tensor, ReduceOp::kSum)));
    if (session.rank() == 1) return;
    const auto ticket = session.all_reduce("x", tensor, ReduceOp::kSum);
    const Status status = ticket ? session.wait(*ticket) : Status(ticket.error());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable);
    EXPECT_TRUE(session.revoked());
    EXPECT_FALSE(session.barrier("y"));
  });
}

TEST(Session, ARankThatIsDoneMayLeaveBeforeTheOthers) {
  // Rank 0 leaves as soon as its own operations are over; the others still exchange frames about them.
  for (int round = 0; round < 20; ++round) {
    run_threads(3, tight_segment(3), [&](Session& session, Arena&) {
      std::vector<float> data(20'000, 1.0f);
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(session.wait(*session.all_reduce("x", {data.data(), data.size(), DataType::kF32}, ReduceOp::kMax)));
      }
      if (session.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    });
  }
}

TEST(Session, MissingNamesTheRanksThatAllOthersWaitFor) {
  std::atomic<bool> looked = false;
  run_threads(3, tight_segment(3), [&](Session& session, Arena&) {
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

TEST(Session, GenerationsFollowEachOtherWithOtherWorkers) {
  auto segment = Segment::create(tight_segment(4));
  ASSERT_TRUE(segment);
  std::vector<std::thread> threads;
  for (int slot = 0; slot < 4; ++slot) {
    threads.emplace_back([&, slot] {
      auto lease = SlotLease::take(*segment, slot);
      ASSERT_TRUE(lease);
      // All ranks; then without 1; then in another order; then all again.
      const std::vector<std::vector<int>> memberships = {{0, 1, 2, 3}, {0, 2, 3}, {3, 2, 0}, {0, 1, 2, 3}};
      for (std::size_t i = 0; i < memberships.size(); ++i) {
        const auto mine = std::find(memberships[i].begin(), memberships[i].end(), slot);
        if (mine == memberships[i].end()) continue;
        auto session = Session::open(**lease, {.endpoint = {.generation = 10 + i, .workers = memberships[i]}});
        ASSERT_TRUE(session) << session.error().to_string();
        EXPECT_EQ((*session)->rank(), mine - memberships[i].begin());
        std::vector<std::int32_t> data(3000, 1);
        ASSERT_TRUE(
            (*session)->wait(*(*session)->all_reduce("x", {data.data(), data.size(), DataType::kI32}, ReduceOp::kSum)));
        EXPECT_EQ(data[2999], static_cast<std::int32_t>(memberships[i].size()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Session, WrongArgumentsAreErrorsAtOnce) {
  run_threads(1, tight_segment(1), [&](Session& session, Arena&) {
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
  });
}

}  // namespace
}  // namespace orrery::elastic
