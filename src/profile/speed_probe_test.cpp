#include "profile/speed_probe.h"

#include <gtest/gtest.h>

#include "env/real_clock.h"
#include "env/sim_clock.h"

namespace orrery::profile {
namespace {

constexpr CoreReading kQuiet = {Seconds(1e-3), Seconds(2e-3), Seconds(3e-3)};

TEST(SpeedProbe, SlownessIsTheGeometricMeanOfThePieces) {
  EXPECT_DOUBLE_EQ(slowness(kQuiet, kQuiet), 1);
  EXPECT_NEAR(slowness({Seconds(8e-3), Seconds(2e-3), Seconds(3e-3)}, kQuiet), 2, 1e-12);
}

TEST(SpeedProbe, AQuietCoreIsReadFromTheFastTwentieth) {
  class Counting final : public SpeedProbe {
   public:
    explicit Counting(env::SimClock& clock) : clock_(clock) {}
    CoreReading read() override {
      clock_.sleep(Seconds(0.01));
      ++count_;
      return {Seconds(count_), Seconds(1), Seconds(1000 - count_)};
    }

   private:
    env::SimClock& clock_;
    int count_ = 0;
  };
  env::SimClock clock;
  Counting speed_probe(clock);
  const CoreReading quiet = quiet_reading(speed_probe, clock, Seconds(1));  // about a hundred readings
  EXPECT_NEAR(quiet[0].value(), 6, 0.5);
  EXPECT_EQ(quiet[1].value(), 1);
  EXPECT_NEAR(quiet[2].value(), 905, 1.5);
}

TEST(SpeedProbe, TheLibrarysPiecesTakeMilliseconds) {
  env::RealClock clock;
  auto speed_probe = make_speed_probe(clock);
  ASSERT_TRUE(speed_probe) << speed_probe.error().to_string();
  for (const Seconds piece : quiet_reading(**speed_probe, clock, Seconds(1))) {
    EXPECT_GT(piece.value(), 1e-5);
    EXPECT_LT(piece.value(), 1) << "a hundred times what it takes, and more";
  }
}

}  // namespace
}  // namespace orrery::profile
