#include "predict/ets/backward_match.h"

#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

using workload::Phase;

constexpr std::int32_t kConv = 1, kRelu = 2, kLinear = 3, kNorm = 4;

LaunchTrace trace_of(const std::vector<std::int32_t>& forward, const std::vector<std::int32_t>& backward) {
  LaunchTrace trace;
  const auto add = [&](std::int32_t kind, Phase phase) {
    LaunchedOperator op;
    op.kind = kind;
    op.phase = phase;
    trace.operators.push_back(op);
  };
  for (const auto kind : forward) add(kind, Phase::kForward);
  for (const auto kind : backward) add(kind, Phase::kBackward);
  add(kNorm, Phase::kUpdate);
  return trace;
}

TEST(BackwardMatch, PairsRowsInReverse) {
  const BackwardMatch match = match_backward(trace_of({kConv, kNorm, kRelu}, {kRelu, kNorm, kConv}));
  EXPECT_EQ(match.forward, (std::vector<std::int32_t>{-1, -1, -1, 2, 1, 0, -1}));
  for (const auto& hidden : match.hidden) EXPECT_TRUE(hidden.empty());
}

TEST(BackwardMatch, HidesForwardRowsWithoutABackwardRowBehindTheRowBefore) {
  const BackwardMatch match = match_backward(trace_of({kNorm, kLinear, kRelu, kLinear, kConv}, {kConv, kRelu, kNorm}));
  EXPECT_EQ(match.forward[5], 4);
  EXPECT_EQ(match.hidden[5], (std::vector<std::int32_t>{3}));
  EXPECT_EQ(match.hidden[6], (std::vector<std::int32_t>{1}));
}

TEST(BackwardMatch, LeavesABackwardRowOfNothingAlone) {
  const BackwardMatch match = match_backward(trace_of({kConv, kRelu}, {kLinear, kRelu, kConv}));
  EXPECT_EQ(match.forward[2], kUnmatched);
  EXPECT_EQ(match.forward[3], 1);
}

TEST(BackwardMatch, OfATraceWithOnePhaseIsEmpty) {
  EXPECT_EQ(match_backward(trace_of({}, {})).forward, (std::vector<std::int32_t>{kUnmatched}));
  EXPECT_TRUE(match_backward({}).forward.empty());
}

}  // namespace
}  // namespace orrery::predict
