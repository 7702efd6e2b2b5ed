// Real processes are killed or stopped in the middle of collectives. At every cut point all other ranks get
// kUnavailable, none hangs, and the survivors continue in a new generation in the same memory.

#include <csignal>
#include <gtest/gtest.h>

#include "base/random.h"
#include "elastic/test_crew.h"

namespace orrery::elastic {
namespace {

enum class Way { kInlined, kStaged, kDirect };

constexpr int kWentOn = 0;  // saw the end of generation 1, and generation 2 works
constexpr int kNoWorker = 17;
constexpr unsigned kHangSeconds = 300;

// Calls all-reduce until it fails. Exit codes other than kWentOn name the expectation that was not met.
int live_through(const std::shared_ptr<Segment>& segment, int slot, const std::vector<int>& workers,
                 const std::vector<int>& survivors, Way way, const Staged::Probe& probe) {
  ::alarm(kHangSeconds);
  auto lease = SlotLease::take(segment, slot);
  if (!lease) return 10;
  Arena arena(**lease);
  constexpr std::size_t kCount = 60'000;
  auto shared = arena.allocate(kCount * sizeof(float));
  if (!shared) return 11;
  std::vector<float> own(kCount);
  float* const data = way == Way::kDirect ? reinterpret_cast<float*>(shared->data()) : own.data();
  const std::size_t count = way == Way::kInlined ? 100 : kCount;
  const TensorView tensor = {data, count, DataType::kF32};
  {
    SessionOptions options;
    options.endpoint.generation = 1;
    options.endpoint.workers = workers;
    options.probe = probe;
    auto session = Session::open(**lease, options);
    if (!session) return session.error().code() == ErrorCode::kUnavailable ? 12 : 13;
    for (;;) {
      std::fill_n(data, count, 1.0f);
      const auto ticket = (*session)->all_reduce("g", tensor, ReduceOp::kSum);
      const Status status = ticket ? (*session)->wait(*ticket) : Status(ticket.error());
      if (!status && status.error().code() != ErrorCode::kUnavailable) return 14;
      if (!status) break;
      if (data[0] != static_cast<float>(workers.size()) || data[count - 1] != data[0]) return 15;
    }
    if (!(*session)->revoked() || (*session)->barrier("late")) return 16;
  }
  auto session = Session::open(**lease, {.endpoint = {.generation = 2, .workers = survivors}});
  if (!session) return kNoWorker;
  for (int i = 0; i < 5; ++i) {
    std::fill_n(data, count, 1.0f);
    const auto ticket = (*session)->all_reduce("g", tensor, ReduceOp::kSum);
    if (!ticket || !(*session)->wait(*ticket)) return 18;
    if (data[0] != static_cast<float>(survivors.size()) || data[count - 1] != data[0]) return 19;
  }
  return kWentOn;
}

SegmentOptions options_for(int ranks) {
  SegmentOptions options = tight_segment(ranks);
  options.block_bytes = 16 << 10;
  return options;
}

std::vector<int> without(std::vector<int> workers, const std::vector<int>& gone) {
  for (const int slot : gone) std::erase(workers, slot);
  return workers;
}

// Starts all ranks; those in `victims` kill themselves the `times`-th time they pass the point.
void expect_survival(int ranks, const std::vector<int>& victims, Way way, CutPoint point, int times) {
  auto segment = Segment::create(options_for(ranks));
  ASSERT_TRUE(segment);
  const std::vector<int> workers = first_slots(ranks), survivors = without(workers, victims);
  std::vector<ChildRank> children;
  for (int slot = 0; slot < ranks; ++slot) {
    const bool is_victim = std::find(victims.begin(), victims.end(), slot) != victims.end();
    children.emplace_back(**segment, [&](std::shared_ptr<Segment> mapped) {
      int left = times;
      const auto probe = [&](CutPoint at) {
        if (is_victim && at == point && --left == 0) ::raise(SIGKILL);
      };
      return live_through(mapped, slot, workers, survivors, way, probe);
    });
  }
  for (int slot = 0; slot < ranks; ++slot) {
    const bool is_victim = std::find(victims.begin(), victims.end(), slot) != victims.end();
    const int code = children[static_cast<std::size_t>(slot)].wait();
    // Of several victims, one may learn of another's end before it reaches its own.
    const bool was_told = is_victim && victims.size() > 1 && code == kNoWorker;
    EXPECT_TRUE(was_told || code == (is_victim ? -SIGKILL : kWentOn))
        << code << ": "
        << "rank " << slot << " of " << ranks << ", way " << static_cast<int>(way) << ", cut "
        << static_cast<int>(point) << " × " << times;
  }
}

TEST(SessionKill, AnywhereInASmallAllReduce) {
  for (int victim = 0; victim < 3; ++victim) {
    for (const int times : {1, 2, 50}) expect_survival(3, {victim}, Way::kInlined, CutPoint::kAnnounced, times);
  }
}

TEST(SessionKill, AnywhereInAnAllReduceThroughBlocks) {
  for (const CutPoint point :
       {CutPoint::kAnnounced, CutPoint::kStaged, CutPoint::kCombined, CutPoint::kPublished, CutPoint::kTook}) {
    for (int victim = 0; victim < 3; ++victim) {
      for (const int times : {1, 3}) expect_survival(3, {victim}, Way::kStaged, point, times);
    }
  }
}

TEST(SessionKill, AnywhereInAnAllReduceInTheArena) {
  for (const CutPoint point : {CutPoint::kAnnounced, CutPoint::kDirectHalf, CutPoint::kDone}) {
    for (int victim = 0; victim < 3; ++victim) {
      for (const int times : {1, 4}) expect_survival(3, {victim}, Way::kDirect, point, times);
    }
  }
}

TEST(SessionKill, TwoAtOnce) {
  expect_survival(4, {0, 1}, Way::kStaged, CutPoint::kStaged, 2);
  expect_survival(4, {1, 3}, Way::kDirect, CutPoint::kDirectHalf, 1);
  expect_survival(5, {0, 2, 4}, Way::kInlined, CutPoint::kAnnounced, 3);
}

TEST(SessionKill, AtAnyMomentFromOutside) {
  Random random(20201104);
  for (int round = 0; round < 20; ++round) {
    const int ranks = 2 + static_cast<int>(random.below(3));
    const int victim = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
    const auto way = static_cast<Way>(random.below(3));
    auto segment = Segment::create(options_for(ranks));
    ASSERT_TRUE(segment);
    const std::vector<int> workers = first_slots(ranks), survivors = without(workers, {victim});
    std::vector<ChildRank> children;
    for (int slot = 0; slot < ranks; ++slot) {
      children.emplace_back(**segment, [&](std::shared_ptr<Segment> mapped) {
        return live_through(mapped, slot, workers, survivors, way, {});
      });
    }
    // After all ranks have joined: before, there is nothing to survive.
    for (int slot = 0; slot < ranks; ++slot) {
      while ((*segment)->control(slot).ring_generation.load() == 0) ::usleep(100);
    }
    ::usleep(static_cast<useconds_t>(random.below(5000)));
    children[static_cast<std::size_t>(victim)].kill(SIGKILL);
    for (int slot = 0; slot < ranks; ++slot) {
      const int code = children[static_cast<std::size_t>(slot)].wait();
      if (slot == victim) {
        EXPECT_EQ(code, -SIGKILL);
      } else {
        // 12: it was killed while others were still opening the generation, which is then revoked for them.
        EXPECT_TRUE(code == kWentOn || code == 12) << code << " in round " << round;
      }
    }
  }
}

TEST(SessionKill, AStoppedProcessIsWaitedForAndNotKilled) {
  auto segment = Segment::create(options_for(3));
  ASSERT_TRUE(segment);
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 3; ++slot) {
    children.emplace_back(**segment, [&](std::shared_ptr<Segment> mapped) {
      ::alarm(kHangSeconds);
      auto lease = SlotLease::take(mapped, slot);
      auto session = Session::open(**lease, {.endpoint = {.generation = 1, .workers = first_slots(3)}});
      if (!session) return 1;
      std::vector<float> data(20'000);
      for (int i = 0; i < 300; ++i) {
        std::fill(data.begin(), data.end(), 1.0f);
        const auto ticket = (*session)->all_reduce("g", {data.data(), data.size(), DataType::kF32}, ReduceOp::kSum);
        if (!ticket || !(*session)->wait(*ticket)) return 2;
        if (data[0] != 3.0f) return 3;
      }
      return 0;
    });
  }
  while ((*segment)->control(1).ring_generation.load() == 0) ::usleep(100);
  children[1].kill(SIGSTOP);
  ::usleep(100'000);
  children[1].kill(SIGCONT);
  for (ChildRank& child : children) EXPECT_EQ(child.wait(), 0);
}

TEST(SessionKill, ADeathWhileAnotherRankIsStoppedIsNoticedByTheRest) {
  auto segment = Segment::create(options_for(4));
  ASSERT_TRUE(segment);
  const std::vector<int> workers = first_slots(4), survivors = {0, 1, 3};
  const Shared<std::array<std::atomic<int>, 4>> taken;  // results, by slot
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 4; ++slot) {
    children.emplace_back(**segment, [&](std::shared_ptr<Segment> mapped) {
      const auto probe = [&](CutPoint at) {
        if (at == CutPoint::kTook) ++taken->at(static_cast<std::size_t>(slot));
      };
      return live_through(mapped, slot, workers, survivors, Way::kStaged, probe);
    });
  }
  for (const std::atomic<int>& results : *taken.operator->()) ASSERT_TRUE(wait_until([&] { return results > 0; }));
  children[1].kill(SIGSTOP);  // the kernel's one wake-up may go to this one
  ::usleep(50'000);
  children[2].kill(SIGKILL);
  EXPECT_EQ(children[2].wait(), -SIGKILL);
  EXPECT_TRUE(wait_until([&] { return is_revoked(**segment, 1); }));
  children[1].kill(SIGCONT);
  for (const int slot : survivors) EXPECT_EQ(children[static_cast<std::size_t>(slot)].wait(), kWentOn);
}

}  // namespace
}  // namespace orrery::elastic
