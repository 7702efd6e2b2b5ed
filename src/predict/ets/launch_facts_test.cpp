#include "predict/ets/launch_facts.h"

#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

using workload::Phase;

constexpr std::int32_t kNorm = 1;

WorkClass class_of(std::int32_t kind) {
  return kind == kNorm ? WorkClass::kBatchNorm : WorkClass::kElementwise;
}

struct Row {
  Phase phase;
  LaunchTimes times;
  std::int32_t kind = 0;
  int kernels = 1;
};

LaunchTrace trace_of(const std::vector<Row>& rows) {
  LaunchTrace trace;
  trace.first_start = 10;
  for (const Row& row : rows) {
    LaunchedOperator op;
    op.kind = row.kind;
    op.phase = row.phase;
    op.kernels = row.kernels;
    trace.operators.push_back(op);
    trace.times.push_back(row.times);
  }
  return trace;
}

std::vector<LaunchFacts> facts_of(const LaunchTrace& trace) {
  return launch_facts(LaunchContext(trace, class_of, {}));
}

TEST(LaunchFacts, TimesAddUpOnBothSides) {
  const LaunchTrace trace = trace_of({{Phase::kForward, {.device = 5, .gap = 35, .interval = 0, .launch = 1}},
                                      {Phase::kForward, {.device = 5, .gap = 45, .interval = 40, .launch = 1}},
                                      {Phase::kForward, {.device = 5, .gap = 0, .interval = 50, .launch = 1}}});
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts[2].launched, 90);
  EXPECT_EQ(facts[2].started, 10 + 40 + 50);
}

TEST(LaunchFacts, AGapBeforeTheNextLaunchIsAWaitForTheHost) {
  const auto facts = facts_of(trace_of({{Phase::kForward, {.device = 5, .gap = 35, .interval = 0, .launch = 1}},
                                        {Phase::kForward, {.device = 5, .gap = 0, .interval = 40, .launch = 1}}}));
  EXPECT_FALSE(facts[0].device_is_full);
  EXPECT_TRUE(facts[1].host_is_free);
}

TEST(LaunchFacts, AGapBehindALongLaunchedQueueIsDeviceTime) {
  const auto facts = facts_of(trace_of({{Phase::kForward, {.device = 500, .gap = 7, .interval = 0, .launch = 1}},
                                        {Phase::kForward, {.device = 5, .gap = 0, .interval = 40, .launch = 1}}}));
  EXPECT_TRUE(facts[0].device_is_full);
}

TEST(LaunchFacts, BehindABatchNormTheHostMayHaveWaited) {
  const Row slow{Phase::kForward, {.device = 500, .gap = 0, .interval = 0, .launch = 1}};
  const Row quick{Phase::kForward, {.device = 5, .gap = 0, .interval = 0, .launch = 1}};
  const Row norm{Phase::kForward, {.device = 5, .gap = 0, .interval = 550, .launch = 1}, kNorm};
  EXPECT_FALSE(facts_of(trace_of({slow, norm}))[1].host_is_free);
  EXPECT_TRUE(facts_of(trace_of({quick, quick, norm}))[2].host_is_free) << "the device had nothing left to do";
}

TEST(LaunchFacts, AFullQueueHoldsTheHost) {
  std::vector<Row> rows = {{Phase::kForward, {.device = 1e6, .gap = 0, .interval = 0, .launch = 1}}};
  for (int i = 0; i < 3; ++i) {
    rows.push_back({Phase::kForward, {.device = 5, .gap = 0, .interval = 10, .launch = 1}, 0, 500});
  }
  const auto facts = facts_of(trace_of(rows));
  EXPECT_TRUE(facts[1].host_is_free);
  EXPECT_FALSE(facts[3].host_is_free);
}

}  // namespace
}  // namespace orrery::predict
