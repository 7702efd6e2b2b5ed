// Which jobs share GPUs under flow.

#include "schedule/policies/flow_sharing.h"

#include <gtest/gtest.h>

namespace orrery::schedule {
namespace {

class FlowSharing : public testing::Test {
 protected:
  SharingJob job(double load_s, double gpu_s, double value, int gpus) {
    const StageTimes stages = {.load_s = load_s, .gpu_s = gpu_s, .iteration_s = load_s + gpu_s};
    return {&speedup_, value, 0, table_.kind_of({.stages = shared_stages(stages)}), gpus};
  }

  Speedup speedup_{std::vector<double>{1, 1.9}};
  InterleavingTable table_;
};

// A host that computes and one that loads, both worth 10. Beside the second, a job that computes, worth 6, leaves each
// 1.015 / 1.33 of the speed: (10 + 6) x 0.763 = 12.2, a gain of 2.2. Beside the first it would be half of that, a loss.
TEST_F(FlowSharing, JoinsWhereAllTogetherGainMost) {
  const SharingJob jobs[] = {job(0, 1, 10, 1), job(1, 0, 10, 1), job(0, 1, 6, 0)};
  EXPECT_EQ(share_gpus(jobs, table_), (std::vector<int>{-1, -1, 1}));
}

// Worth 3 it is not enough: 13 x 0.763 < 10. Where it is already, nothing has to be paid for it: a restart that costs
// 60 % of its speed would make 6 too little as well.
TEST_F(FlowSharing, OnlyIfAllTogetherGain) {
  const SharingJob poor[] = {job(1, 0, 10, 1), job(0, 1, 3, 0)};
  EXPECT_EQ(share_gpus(poor, table_), (std::vector<int>{-1, -1}));
  SharingJob jobs[] = {job(1, 0, 10, 1), job(0, 1, 6, 0)};
  jobs[1].change = 0.6;
  EXPECT_EQ(share_gpus(jobs, table_), (std::vector<int>{-1, -1}));
  jobs[1].beside = 0;
  EXPECT_EQ(share_gpus(jobs, table_), (std::vector<int>{-1, 0}));
}

TEST_F(FlowSharing, NotOnMoreGpusThanItCanUse) {
  SharingJob jobs[] = {job(1, 0, 10, 2), job(0, 1, 9, 0)};
  EXPECT_EQ(share_gpus(jobs, table_)[1], 0);
  const Speedup one(std::vector<double>{1});
  jobs[1].speedup = &one;
  EXPECT_EQ(share_gpus(jobs, table_)[1], -1);
}

// A job that must stay does, whatever it is worth, and before others take the place.
TEST_F(FlowSharing, AJobThatMustStayStays) {
  SharingJob stays = job(0, 1, 0, 0);
  stays.beside = 0;
  stays.must_stay = true;
  const SharingJob jobs[] = {job(1, 0, 10, 1), job(0, 1, 6, 0), job(0, 1, 6, 0), job(0, 1, 6, 0), stays};
  EXPECT_EQ(share_gpus(jobs, table_)[4], 0);
}

}  // namespace
}  // namespace orrery::schedule
