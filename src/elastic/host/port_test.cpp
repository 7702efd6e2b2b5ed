#include "elastic/host/port.h"

#include <gtest/gtest.h>
#include <latch>

#include "elastic/test_crew.h"

namespace orrery::elastic {
namespace {

// Two ranks with open ports; the second is asleep as far as the first can see, and stays so while `work` runs.
void beside_a_sleeper(const std::function<void(Port& port, SlotControl& sleeper)>& work) {
  const auto segment = *Segment::create(tight_segment(2));
  const PortOptions options = {.epoch = 1, .members = first_slots(2)};
  std::latch asleep(1), done(1);
  std::thread other([&] {
    auto seat = Seat::take(segment, 1);
    ASSERT_TRUE(seat);
    auto port = Port::open(**seat, options);
    ASSERT_TRUE(port);
    segment->control(1).sleeping.store(static_cast<std::uint32_t>(Sleep::kForFrames));
    asleep.count_down();
    done.wait();
  });
  auto seat = Seat::take(segment, 0);
  auto port = Port::open(**seat, options);
  asleep.wait();
  work(**port, segment->control(1));
  done.count_down();
  other.join();
}

const Port::Take kTakeNothing = [](int, const Frame&, std::span<const std::byte>) { return Status(); };

TEST(Port, ASleeperIsWokenByTheReceiveAfterAPost) {
  beside_a_sleeper([](Port& port, SlotControl& sleeper) {
    const std::uint32_t bell = sleeper.bell.load();
    ASSERT_TRUE(port.post({}, {}));
    EXPECT_EQ(sleeper.bell.load(), bell);
    ASSERT_TRUE(port.receive(kTakeNothing));
    EXPECT_EQ(sleeper.bell.load(), bell + 1);
    EXPECT_EQ(sleeper.sleeping.load(), 0u);
  });
}

TEST(Port, ASleeperIsWokenBySendingAtOnce) {
  beside_a_sleeper([](Port& port, SlotControl& sleeper) {
    const std::uint32_t bell = sleeper.bell.load();
    ASSERT_TRUE(port.send({}));
    EXPECT_EQ(sleeper.bell.load(), bell + 1);
  });
}

TEST(Port, NobodyIsWokenWithoutNews) {
  beside_a_sleeper([](Port& port, SlotControl& sleeper) {
    const std::uint32_t bell = sleeper.bell.load();
    ASSERT_TRUE(port.receive(kTakeNothing));
    EXPECT_EQ(sleeper.bell.load(), bell);
    EXPECT_NE(sleeper.sleeping.load(), 0u);
  });
}

}  // namespace
}  // namespace orrery::elastic
