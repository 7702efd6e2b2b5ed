// Real processes with loopback connections are killed or stopped in the middle of collectives. At every cut point all
// other ranks get kUnavailable, none hangs, and the survivors continue in a new generation.

#include <csignal>
#include <gtest/gtest.h>

#include "base/random.h"
#include "elastic/net/heartbeat.h"
#include "elastic/net/test_crew.h"

namespace orrery::elastic::net {
namespace {

constexpr int kWentOn = 0;  // saw the end of generation 1, and generation 2 works
constexpr unsigned kHangSeconds = 300;
constexpr std::size_t kCount = 30'000;
constexpr Seconds kOpenMax{60};

Status all_reduce_ones(Session& session, std::vector<float>& data, float expected) {
  std::fill(data.begin(), data.end(), 1.0f);
  ORRERY_TRY(const Ticket ticket, session.all_reduce("g", {data.data(), data.size(), DataType::kF32}, ReduceOp::kSum));
  ORRERY_TRY_VOID(session.wait(ticket));
  if (data.front() != expected || data.back() != expected) return Error::internal("a wrong sum");
  return {};
}

// Calls all-reduce until it fails. Exit codes other than kWentOn name the expectation that was not met.
int live_through(Listeners& listeners, int self, const std::vector<int>& survivors, Algorithm algorithm,
                 const Probe& probe, Seconds open_max = kOpenMax) {
  ::alarm(kHangSeconds);
  listeners.keep_only(self);
  std::vector<float> data(kCount);
  SessionOptions options = tight_options();
  options.chunk_bytes = 16 << 10;
  options.probe = probe;
  options.mesh.rank = self;
  options.mesh.addresses = listeners.addresses;
  options.mesh.open_max = open_max;
  {
    // A rank that dies while others still open the generation ends it for them before it has begun.
    auto session = Session::open(listeners.of(self), options);
    if (!session && session.error().code() != ErrorCode::kUnavailable) return 13;
    Status status = session ? (*session)->set_algorithm(algorithm) : Status(session.error());
    while (status) status = all_reduce_ones(**session, data, static_cast<float>(listeners.addresses.size()));
    if (status.error().code() != ErrorCode::kUnavailable) return 14;
    if (session && (!(*session)->revoked() || (*session)->barrier("late"))) return 16;
  }
  options.probe = {};
  options.mesh.generation = 2;
  options.mesh.open_max = kOpenMax;
  options.mesh.rank = static_cast<int>(std::find(survivors.begin(), survivors.end(), self) - survivors.begin());
  options.mesh.addresses.clear();
  for (const int worker : survivors) {
    options.mesh.addresses.push_back(listeners.addresses[static_cast<std::size_t>(worker)]);
  }
  auto session = Session::open(listeners.of(self), options);
  if (!session) return 17;
  for (int i = 0; i < 3; ++i) {
    if (!all_reduce_ones(**session, data, static_cast<float>(survivors.size()))) return 18;
  }
  return kWentOn;
}

std::vector<int> all_but(int ranks, int gone) {
  std::vector<int> workers;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != gone) workers.push_back(rank);
  }
  return workers;
}

// Rank `victim` kills itself the `times`-th time it reaches the point.
void expect_survival(int ranks, int victim, Algorithm algorithm, Moment moment, int times) {
  Listeners listeners(ranks);
  std::vector<ChildRank> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.emplace_back([&] {
      int left = times;
      const auto probe = [&](Moment at) {
        if (rank == victim && at == moment && --left == 0) ::raise(SIGKILL);
      };
      return live_through(listeners, rank, all_but(ranks, victim), algorithm, probe);
    });
  }
  listeners.keep_only(-1);
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(children[static_cast<std::size_t>(rank)].wait(), rank == victim ? -SIGKILL : kWentOn)
        << "rank " << rank << " of " << ranks << ", " << to_string(algorithm) << ", moment " << static_cast<int>(moment)
        << " × " << times;
  }
}

TEST(NetSessionKill, AtEveryMomentOfEveryAlgorithm) {
  for (int which = 0; which < kAlgorithms; ++which) {
    const auto algorithm = static_cast<Algorithm>(which);
    if (algorithm == Algorithm::kGivenTree) continue;  // a tree like the others
    for (int at = 0; at < kMoments; ++at) {
      const auto moment = static_cast<Moment>(at);
      for (int victim = 0; victim < 3; ++victim) {
        // Not every rank of a tree folds or copies.
        const bool folds = algorithm == Algorithm::kBinaryTree || algorithm == Algorithm::kStar ? victim == 0 : true;
        const bool copies = algorithm == Algorithm::kExchange                                      ? false
                            : algorithm == Algorithm::kBinaryTree || algorithm == Algorithm::kStar ? victim != 0
                                                                                                   : true;
        if (moment == Moment::kFolded && (!folds || (algorithm == Algorithm::kHalvingDoubling && victim == 1))) {
          continue;
        }
        if (moment == Moment::kCopied && !copies) continue;
        if (moment == Moment::kTook && !folds) continue;
        if (moment == Moment::kTook && algorithm == Algorithm::kHalvingDoubling && victim == 1) continue;
        expect_survival(3, victim, algorithm, moment, 1 + 3 * (victim % 2));
      }
    }
  }
}

TEST(NetSessionKill, AtAnyMomentFromOutside) {
  Random random(20201104);
  for (int round = 0; round < 16; ++round) {
    const int ranks = 2 + static_cast<int>(random.below(4));
    const int victim = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
    const auto algorithm = static_cast<Algorithm>(random.below(kAlgorithms - 1));
    Listeners listeners(ranks);
    const Shared<std::atomic<int>> begun;
    std::vector<ChildRank> children;
    for (int rank = 0; rank < ranks; ++rank) {
      children.emplace_back([&] {
        ++*begun.operator->();
        // The others wait so long for a victim that is killed before it has opened its session.
        constexpr Seconds kShort(2);
        return live_through(listeners, rank, all_but(ranks, victim), algorithm, {}, kShort);
      });
    }
    listeners.keep_only(-1);
    ASSERT_TRUE(wait_until([&] { return *begun.operator->() == ranks; }));
    ::usleep(20'000 + static_cast<useconds_t>(random.below(30'000)));
    children[static_cast<std::size_t>(victim)].kill(SIGKILL);
    for (int rank = 0; rank < ranks; ++rank) {
      const int code = children[static_cast<std::size_t>(rank)].wait();
      EXPECT_EQ(code, rank == victim ? -SIGKILL : kWentOn) << "in round " << round;
    }
  }
}

// What the ranks of the next test tell each other.
struct Watched {
  std::atomic<int> rounds_of_1{0};
  std::atomic<double> quiet_s[3] = {};  // rank 1, at the most, as each rank sees it
  std::atomic<bool> over{false};
};

// A process that is stopped does not read and does not send, but its machine answers: it is waited for, for much longer
// than any deadline, and quiet() names it.
TEST(NetSessionKill, AStoppedProcessIsReportedAndWaitedFor) {
  Listeners listeners(3);
  const Shared<Watched> watched;
  std::vector<ChildRank> children;
  for (int rank = 0; rank < 3; ++rank) {
    children.emplace_back([&] {
      ::alarm(kHangSeconds);
      listeners.keep_only(rank);
      SessionOptions options = tight_options();
      options.mesh.rank = rank;
      options.mesh.addresses = listeners.addresses;
      auto session = Session::open(listeners.of(rank), options);
      if (!session) return 1;
      std::vector<float> data(kCount);
      std::atomic<double>& quiet_s = watched->quiet_s[rank];
      for (;;) {
        std::fill(data.begin(), data.end(), 1.0f);
        // All ranks must do the same number; rank 0 says when it is over.
        float go_on = rank == 0 && !watched->over ? 1.0f : 0.0f;
        const auto first = (*session)->broadcast("go", {&go_on, 1, DataType::kF32}, 0);
        const auto ticket = (*session)->all_reduce("g", {data.data(), data.size(), DataType::kF32}, ReduceOp::kSum);
        if (!first || !ticket) return 2;
        for (;;) {
          const auto over = (*session)->poll(*ticket);
          if (!over) return 3;
          if (*over) break;
          if (rank != 1) quiet_s = std::max(quiet_s.load(), (*session)->quiet(1).value());
          (*session)->rest(1000, Seconds(0.01));
        }
        if (!(*session)->wait(*ticket) || !(*session)->wait(*first)) return 4;
        if (data[0] != 3.0f) return 5;
        if (go_on == 0.0f) return 0;
        if (rank == 1) ++watched->rounds_of_1;
      }
    });
  }
  listeners.keep_only(-1);
  ASSERT_TRUE(wait_until([&] { return watched->rounds_of_1 > 3; }));
  children[1].kill(SIGSTOP);
  const double long_s = 1.2 * Heartbeat::kDeadlineMax.value();
  EXPECT_TRUE(wait_until([&] { return watched->quiet_s[0] > long_s && watched->quiet_s[2] > long_s; }));
  watched->over = true;
  children[1].kill(SIGCONT);
  for (ChildRank& child : children) EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace orrery::elastic::net
