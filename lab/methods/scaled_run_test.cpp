#include "lab/methods/scaled_run.h"

#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

// 10 ms and 2 ms per image alone; an exchange of 30 ms on two GPUs, 80 on four.
ScaledRun run_of(double batch, double replicas) {
  const double alone = 0.01 + 0.002 * batch;
  const double exchange = replicas == 1 ? 0 : replicas == 2 ? 0.03 : 0.08;
  return {batch, replicas, alone, alone + exchange};
}

TEST(ScaledRun, OtherBatchesOnTheSameGpusSayWhatTheExchangeTakes) {
  std::vector<ScaledRun> known;
  for (const double batch : {8.0, 16.0, 32.0}) {
    for (const double replicas : {1.0, 2.0, 4.0}) known.push_back(run_of(batch, replicas));
  }
  for (const double replicas : {1.0, 2.0, 4.0}) {
    const ScaledRun like = run_of(64, replicas);
    EXPECT_NEAR(scaled_seconds(known, like).value(), like.seconds, 1e-9) << replicas;
  }
}

TEST(ScaledRun, WithoutThemOtherNumbersOfGpusDo) {
  std::vector<ScaledRun> known;
  const auto law = [](double batch, double k) {
    const double alone = 0.01 + 0.002 * batch;
    return ScaledRun{batch, k, alone, alone + 0.06 * (k - 1) / k};
  };
  for (const double batch : {8.0, 32.0}) {
    for (const double replicas : {1.0, 2.0, 4.0}) known.push_back(law(batch, replicas));
  }
  EXPECT_NEAR(scaled_seconds(known, law(16, 8)).value(), law(16, 8).seconds, 1e-9);
}

TEST(ScaledRun, NearBatchesCountMore) {
  // Alone always 1 s; on two GPUs 2 s with batch 8 and 4 s with batch 512: near 8 the answer is near 2.
  const std::vector<ScaledRun> known = {{8, 2, 1, 2}, {512, 2, 1, 4}};
  EXPECT_LT(scaled_seconds(known, {8, 2, 1, 0}).value(), scaled_seconds(known, {512, 2, 1, 0}).value());
}

TEST(ScaledRun, SaysWhatIsWrong) {
  const std::vector<ScaledRun> known = {run_of(8, 2)};
  EXPECT_FALSE(scaled_seconds({}, run_of(8, 2)));
  EXPECT_FALSE(scaled_seconds(known, {8, 2, 0, 0}));
  EXPECT_FALSE(scaled_seconds(known, {8, 0.5, 1, 0}));
  EXPECT_FALSE(scaled_seconds(std::vector<ScaledRun>{{8, 2, 1, 0}}, run_of(8, 2)));
}

RC_GTEST_PROP(ScaledRun, LongerAloneIsNeverShorterTogether, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<ScaledRun> known;
  for (int i = 0; i < 6; ++i) {
    known.push_back({std::exp2(random.uniform(0, 8)), std::exp2(static_cast<double>(random.below(4))),
                     random.uniform(0.1, 2), random.uniform(0.1, 4)});
  }
  const ScaledRun like{std::exp2(random.uniform(0, 8)), 4, random.uniform(0.1, 2), 0};
  ScaledRun longer = like;
  longer.alone_s *= 2;
  const double time = scaled_seconds(known, like).value();
  RC_ASSERT(time > 0);
  RC_ASSERT(scaled_seconds(known, longer).value() >= time * (1 - 1e-9));
}

}  // namespace
}  // namespace orrery::lab
