// Every algorithm on every size and type, in one thread: messages between the ranks are delivered in random order.

#include "elastic/net/executor.h"

#include <deque>
#include <gtest/gtest.h>

#include "elastic/net/algorithm.h"
#include "elastic/net/algorithms/trees.h"
#include "elastic/test_oracle.h"

namespace orrery::elastic::net {
namespace {

// The ranks and the messages in transit between them.
class SimulatedJob {
 public:
  SimulatedJob(Algorithm algorithm, const Plan& plan, const std::vector<TensorBytes>& inputs, std::uint64_t seed)
      : random_(seed) {
    const auto ranks = static_cast<std::size_t>(plan.ranks);
    ranks_.reserve(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*this, static_cast<int>(rank)));
      Rank& self = *ranks_.back();
      Plan own = plan;
      own.rank = static_cast<int>(rank);
      self.memory = inputs[rank];
      const bool gathers = !reduces(plan.descriptor.collective) && plan.descriptor.collective != Collective::kBroadcast;
      if (gathers) self.all.resize(ranks * inputs[rank].size());
      make_schedule(algorithm, own, self.schedule);
      self.executor.begin(own, {self.memory.data(), gathers ? self.all.data() : self.memory.data()}, self.schedule,
                          blocks_);
    }
  }

  // Whether all ranks have reached the end.
  bool run() {
    for (auto& rank : ranks_) {
      if (random_.below(2) == 0) rank->executor.run_early(*rank);
    }
    for (auto& rank : ranks_) rank->executor.run(*rank);
    while (!events_.empty()) {
      // Any pair of ranks may be next; between two ranks messages keep their order.
      auto next = std::next(events_.begin(), static_cast<std::ptrdiff_t>(random_.below(events_.size())));
      deliver(next->first.first, next->first.second);
    }
    return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->executor.complete(); });
  }

  const TensorBytes& memory(int rank) const { return ranks_[static_cast<std::size_t>(rank)]->memory; }
  const TensorBytes& all(int rank) const { return ranks_[static_cast<std::size_t>(rank)]->all; }

 private:
  struct Message {
    std::uint32_t part = 0;
    std::span<const std::byte> bytes{};
  };
  struct Rank final : Executor::Outlet {
    Rank(SimulatedJob& world_in, int rank_in) : job(world_in), rank(rank_in) {}
    void send(int to, std::uint32_t part, std::span<const std::byte> bytes) override {
      job.events_[{rank, to}].push_back({part, bytes});
    }
    bool send_early(int to, std::uint32_t part, std::span<const std::byte> bytes) override {
      if (job.random_.below(2) == 0) return false;
      send(to, part, bytes);
      return true;
    }
    SimulatedJob& job;
    int rank;
    TensorBytes memory, all;
    Schedule schedule;
    Executor executor;
  };

  void deliver(int from, int to) {
    auto& queue = events_[{from, to}];
    const Message message = queue.front();
    queue.pop_front();
    if (queue.empty()) events_.erase({from, to});
    Rank& sender = *ranks_[static_cast<std::size_t>(from)];
    Rank& receiver = *ranks_[static_cast<std::size_t>(to)];
    ASSERT_TRUE(receiver.executor.expects(from, message.part, message.bytes.size()));
    std::byte* const in_place = receiver.executor.place(from, message.part);
    Block block;
    if (in_place == nullptr) block = blocks_.take(message.bytes.size());
    std::memcpy(in_place != nullptr ? in_place : block.data.get(), message.bytes.data(), message.bytes.size());
    // It has left the sender before it has arrived.
    sender.executor.written(message.part);
    if (in_place != nullptr) {
      receiver.executor.arrived_in_place(message.part, receiver);
    } else {
      receiver.executor.arrived(from, message.part, std::move(block), receiver);
    }
    sender.executor.advance(message.part, sender);
  }

  Random random_;
  Blocks blocks_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<std::pair<int, int>, std::deque<Message>> events_;
};

std::vector<int> some_tree(int ranks) {
  // A chain with a branch: 0 ← 1 ← 2, 0 ← 3, 2 ← 4 and so on.
  std::vector<int> parents = {-1, 0, 1, 0, 2, 3, 3, 5, 0};
  parents.resize(static_cast<std::size_t>(ranks));
  return parents;
}

// Whether `rank` has what it must; `exact`: with the bits of the rank order.
void expect_result(const SimulatedJob& job, const Descriptor& what, const std::vector<TensorBytes>& inputs, int rank,
                   bool exact, const std::string& text) {
  const auto ranks = static_cast<int>(inputs.size());
  const bool is_root = rank == what.root;
  if (reduces(what.collective)) {
    if (what.collective == Collective::kReduce && !is_root) return;
    const TensorBytes expected = combined(what.type, what.op, inputs);
    Range range = {0, expected.size()};
    if (what.collective == Collective::kReduceScatter) range = owned(what, rank, ranks);
    const auto part = [&](const TensorBytes& bytes) {
      return TensorBytes(bytes.begin() + static_cast<std::ptrdiff_t>(range.begin),
                         bytes.begin() + static_cast<std::ptrdiff_t>(range.end));
    };
    EXPECT_TRUE(!exact || same_values(what.type, part(job.memory(rank)), part(expected))) << text;
    return;
  }
  if (what.collective == Collective::kBroadcast) {
    EXPECT_EQ(job.memory(rank), inputs[what.root]) << text;
    return;
  }
  if (what.collective == Collective::kGather && !is_root) return;
  TensorBytes joined;
  for (const TensorBytes& input : inputs) joined.insert(joined.end(), input.begin(), input.end());
  EXPECT_EQ(job.all(rank), joined) << text;
}

constexpr Collective kMoving[] = {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce,
                                  Collective::kAllGather, Collective::kGather,        Collective::kBroadcast};
constexpr std::uint64_t kCounts[] = {0, 1, 127, 1023, 1024, 1025, 4099};

TEST(NetExecutor, EveryAlgorithmOnEverySizeTypeAndNumberOfRanks) {
  Random random(20260101);
  for (int ranks = 1; ranks <= 9; ++ranks) {
    const std::vector<int> parents = some_tree(ranks);
    for (int which = 0; which < kAlgorithms; ++which) {
      const auto algorithm = static_cast<Algorithm>(which);
      for (const Collective collective : kMoving) {
        if (!can_do(algorithm, collective)) continue;
        for (const DataType type : kDataTypes) {
          const std::uint64_t count = kCounts[random.below(std::size(kCounts))];
          Descriptor what = {collective, type, ReduceOp::kSum, 0, count};
          if (reduces(collective)) what.op = kReduceOps[random.below(kReduceOps.size())];
          if (has_root(collective) && algorithm != Algorithm::kGivenTree) {
            what.root = static_cast<std::uint16_t>(random.below(static_cast<std::uint64_t>(ranks)));
          }
          // Small whole numbers, whose sums are exact in any order; products of them are not in 16 bits.
          std::vector<TensorBytes> inputs;
          for (int rank = 0; rank < ranks; ++rank) inputs.push_back(random_tensor(random, type, count, false));
          const bool exact = what.op != ReduceOp::kProduct || element_bytes(type) >= 4 ||
                             algorithm == Algorithm::kExchange || algorithm == Algorithm::kClique;
          const Plan plan = {what, 0, ranks, 1 << 10, parents};
          const std::string text =
              std::string(to_string(algorithm)) + ", " + to_string(what) + ", " + std::to_string(ranks) + " ranks";
          SimulatedJob job(algorithm, plan, inputs, random.next());
          ASSERT_TRUE(job.run()) << text;
          for (int rank = 0; rank < ranks; ++rank) expect_result(job, what, inputs, rank, exact, text);
        }
      }
    }
  }
}

TEST(NetExecutor, EveryCountWithEveryAlgorithmOfAllReduce) {
  Random random(20260102);
  for (const int ranks : {2, 3, 4, 7}) {
    for (int which = 0; which < kAlgorithms; ++which) {
      const auto algorithm = static_cast<Algorithm>(which);
      for (const std::uint64_t count : kCounts) {
        const Descriptor what = {Collective::kAllReduce, DataType::kF32, ReduceOp::kSum, 0, count};
        std::vector<TensorBytes> inputs;
        for (int rank = 0; rank < ranks; ++rank) inputs.push_back(random_tensor(random, what.type, count, false));
        const std::vector<int> parents = some_tree(ranks);
        SimulatedJob job(algorithm, {what, 0, ranks, 1 << 10, parents}, inputs, random.next());
        ASSERT_TRUE(job.run()) << to_string(algorithm) << " " << count;
        for (int rank = 0; rank < ranks; ++rank) {
          expect_result(job, what, inputs, rank, true, std::string(to_string(algorithm)));
        }
      }
    }
  }
}

TEST(NetExecutor, BitsDoNotDependOnTimingAndAreTheSameOnAllRanks) {
  Random random(20260103);
  for (int round = 0; round < 60; ++round) {
    const int ranks = 2 + static_cast<int>(random.below(7));
    const auto algorithm = static_cast<Algorithm>(random.below(kAlgorithms));
    const DataType type = kDataTypes[random.below(kDataTypes.size())];
    const Descriptor what = {Collective::kAllReduce, type, kReduceOps[random.below(kReduceOps.size())], 0, 1000};
    std::vector<TensorBytes> inputs;
    for (int rank = 0; rank < ranks; ++rank) inputs.push_back(random_tensor(random, type, what.count, true));
    const std::vector<int> parents = some_tree(ranks);
    const Plan plan = {what, 0, ranks, 1 << 10, parents};
    SimulatedJob first(algorithm, plan, inputs, 2 * static_cast<std::uint64_t>(round));
    SimulatedJob second(algorithm, plan, inputs, 2 * static_cast<std::uint64_t>(round) + 1);
    ASSERT_TRUE(first.run());
    ASSERT_TRUE(second.run());
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(first.memory(rank), first.memory(0)) << to_string(algorithm) << " " << to_string(what);
      EXPECT_EQ(second.memory(rank), first.memory(0)) << to_string(algorithm) << " " << to_string(what);
    }
  }
}

TEST(NetExecutor, ExchangeCliqueAndStarHaveTheBitsOfTheRankOrder) {
  Random random(20260104);
  for (const Algorithm algorithm : {Algorithm::kExchange, Algorithm::kClique, Algorithm::kStar}) {
    for (const DataType type : kDataTypes) {
      for (const ReduceOp op : kReduceOps) {
        const Descriptor what = {Collective::kAllReduce, type, op, 0, 777};
        std::vector<TensorBytes> inputs;
        for (int rank = 0; rank < 5; ++rank) inputs.push_back(random_tensor(random, type, what.count, true));
        SimulatedJob job(algorithm, {what, 0, 5, 1 << 10, {}}, inputs, random.next());
        ASSERT_TRUE(job.run());
        EXPECT_TRUE(same_values(type, job.memory(3), combined(type, op, inputs)))
            << to_string(algorithm) << " " << to_string(what);
      }
    }
  }
}

}  // namespace
}  // namespace orrery::elastic::net
