#include <gtest/gtest.h>

#include "train/trainer.h"

namespace orrery::train {
namespace {

// Two ranks that compute for 60 ms. The first has the result of an exchange after 5 ms, the second after `late_s`.
void add_step(TrainingWatch& watch, std::uint64_t step, double late_s) {
  const double step_s = 0.06 + late_s;
  StepMetrics metrics;
  metrics.telemetry = {{.micro_batch_s = 0.06, .step_s = step_s, .compute_s = 0.06, .exchange_s = 0.005, .wall_s = 1},
                       {.micro_batch_s = 0.06, .step_s = step_s, .compute_s = 0.06, .exchange_s = late_s, .wall_s = 1}};
  watch.add(step, metrics, 64, 0);
}

TEST(TrainingWatch, ASlowWayToOneRankIsSeen) {
  TrainingWatch watch;
  std::uint64_t step = 0;
  for (int i = 0; i < 40; ++i) add_step(watch, ++step, 0.005);
  EXPECT_NEAR(*watch.interference.index(), 1, 1e-9);
  for (int i = 0; i < 60; ++i) add_step(watch, ++step, 0.085);
  EXPECT_NEAR(*watch.interference.index(), 17, 0.1);
  EXPECT_NEAR(*watch.interference.slowdown(), 145.0 / 65, 0.01);
}

TEST(TrainingWatch, AStepWithoutAnExchangeSaysNothingAboutIt) {
  TrainingWatch watch;
  for (std::uint64_t step = 1; step < 40; ++step) add_step(watch, step, 0);
  EXPECT_FALSE(watch.interference.index());
}

}  // namespace
}  // namespace orrery::train
