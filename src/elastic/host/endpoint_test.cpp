#include "elastic/host/endpoint.h"

#include <gtest/gtest.h>
#include <latch>

#include "elastic/test_crew.h"

namespace orrery::elastic {
namespace {

// Two ranks with open endpoints; the second is marked as asleep, and stays so while `work` runs.
void beside_a_sleeper(const std::function<void(Endpoint& endpoint, SlotControl& sleeper)>& work) {
  const auto segment = *Segment::create(tight_segment(2));
  const EndpointOptions options = {.generation = 1, .workers = first_slots(2)};
  std::latch asleep(1), done(1);
  std::thread other([&] {
    auto lease = SlotLease::take(segment, 1);
    ASSERT_TRUE(lease);
    auto endpoint = Endpoint::open(**lease, options);
    ASSERT_TRUE(endpoint);
    segment->control(1).sleeping.store(static_cast<std::uint32_t>(Sleep::kForFrames));
    asleep.count_down();
    done.wait();
  });
  auto lease = SlotLease::take(segment, 0);
  auto endpoint = Endpoint::open(**lease, options);
  asleep.wait();
  work(**endpoint, segment->control(1));
  done.count_down();
  other.join();
}

const Endpoint::Take kTakeNothing = [](int, const Frame&, std::span<const std::byte>) { return Status(); };

TEST(Endpoint, ASleeperIsWokenByTheReceiveAfterAPost) {
  beside_a_sleeper([](Endpoint& endpoint, SlotControl& sleeper) {
    const std::uint32_t bell = sleeper.bell.load();
    ASSERT_TRUE(endpoint.post({}, {}));
    EXPECT_EQ(sleeper.bell.load(), bell);
    ASSERT_TRUE(endpoint.receive(kTakeNothing));
    EXPECT_EQ(sleeper.bell.load(), bell + 1);
    EXPECT_EQ(sleeper.sleeping.load(), 0u);
  });
}

TEST(Endpoint, ASleeperIsWokenBySendingAtOnce) {
  beside_a_sleeper([](Endpoint& endpoint, SlotControl& sleeper) {
    const std::uint32_t bell = sleeper.bell.load();
    ASSERT_TRUE(endpoint.send({}));
    EXPECT_EQ(sleeper.bell.load(), bell + 1);
  });
}

TEST(Endpoint, NoRankIsWokenWithoutNews) {
  beside_a_sleeper([](Endpoint& endpoint, SlotControl& sleeper) {
    const std::uint32_t bell = sleeper.bell.load();
    ASSERT_TRUE(endpoint.receive(kTakeNothing));
    EXPECT_EQ(sleeper.bell.load(), bell);
    EXPECT_NE(sleeper.sleeping.load(), 0u);
  });
}

}  // namespace
}  // namespace orrery::elastic
