#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "lab/lab.h"
#include "lab/methods/complexity.h"
#include "lab/methods/layer_times.h"

namespace orrery::lab {
namespace {

TEST(Complexity, IsTheTableOfThePaper) {
  const auto shape = [](LayerKind kind) {
    return LayerShape{kind, 3, 5, 7, 11, 2, 1};  // 3 × 5 window, 7 channels in, 11 out, 2 neighbours
  };
  EXPECT_EQ(forward_operations(shape(LayerKind::kConvolution)), 1155);   // 3·5·7·11
  EXPECT_EQ(backward_operations(shape(LayerKind::kConvolution)), 2321);  // (2·3·5·7 + 1)·11
  EXPECT_EQ(forward_operations(shape(LayerKind::kFullyConnected)), 1155);
  EXPECT_EQ(backward_operations(shape(LayerKind::kFullyConnected)), 2310);
  EXPECT_EQ(forward_operations(shape(LayerKind::kLoss)), 43);            // 4·11 − 1
  EXPECT_EQ(backward_operations(shape(LayerKind::kLoss)), 12);           // 11 + 1
  EXPECT_EQ(forward_operations(shape(LayerKind::kNormalisation)), 55);   // 5·11 + 2 − 2
  EXPECT_EQ(backward_operations(shape(LayerKind::kNormalisation)), 89);  // 8·11 + 2 − 1
  EXPECT_EQ(forward_operations(shape(LayerKind::kPooling)), 165);        // 3·5·11
  EXPECT_EQ(backward_operations(shape(LayerKind::kPooling)), 176);       // (3·5 + 1)·11
  EXPECT_EQ(forward_operations(shape(LayerKind::kActivation)), 33);
  EXPECT_EQ(backward_operations(shape(LayerKind::kActivation)), 44);
}

TEST(Complexity, GrowsWithThePositions) {
  // The first convolution of VGG-16: 3 × 3 × 3 → 64 at 224 × 224 positions.
  const LayerShape first{LayerKind::kConvolution, 3, 3, 3, 64, 1, 224 * 224};
  EXPECT_EQ(forward_operations(first), 86704128);
  EXPECT_TRUE(validate(first));
  EXPECT_FALSE(validate({LayerKind::kConvolution, 0, 3, 3, 64}));
  EXPECT_FALSE(validate({LayerKind::kConvolution, 3, 3, NAN, 64}));
}

TEST(LayerTimes, ALayerThatTookLongElsewhereIsHalfBelieved) {
  // Boards take 1, 2 and 4 s per operation; layer d took four times that on b and c.
  std::vector<LayerTime> measured;
  for (const auto& [board, rate] : {std::pair("a", 1.0), std::pair("b", 2.0), std::pair("c", 4.0)}) {
    for (const char* layer : {"x", "y", "z"}) measured.push_back({board, layer, 10, 10 * rate});
    if (board != std::string("a")) measured.push_back({board, "d", 5, 4 * 5 * rate});
  }
  const LayerTimes model = LayerTimes::fit(measured).value();
  // log effect = 2 · log 4 / (2 + 2) = log 2.
  EXPECT_NEAR(model.seconds({"a", "d", 5}).value(), 10, 1e-9);
  EXPECT_NEAR(model.seconds_by_rate({"a", "d", 5}).value(), 5, 1e-9);
  EXPECT_NEAR(model.seconds({"a", "never seen", 7}).value(), 7, 1e-9);
  EXPECT_NEAR(model.seconds({"a", "x", 10}).value(), 10, 1e-9);
}

TEST(LayerTimes, SaysWhatIsWrong) {
  const std::vector<LayerTime> twice = {{"a", "x", 1, 1}, {"a", "x", 1, 2}};
  EXPECT_EQ(LayerTimes::fit(twice).error().message(), "layer \"x\" on \"a\" twice");
  EXPECT_FALSE(LayerTimes::fit(std::vector<LayerTime>{{"a", "x", 1, 0}}));
  EXPECT_FALSE(LayerTimes::fit(std::vector<LayerTime>{{"a", "x", 0, 1}}));
  const LayerTimes model = LayerTimes::fit(std::vector<LayerTime>{{"a", "x", 1, 1}}).value();
  EXPECT_EQ(model.seconds({"b", "x", 1}).error().message(), "no layer was measured on \"b\"");
  EXPECT_FALSE(model.seconds({"a", "x", NAN}));
}

RC_GTEST_PROP(LayerTimes, ABoardTwiceAsSlowTakesTwiceAsLong, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<LayerTime> measured, slower;
  for (const char* board : {"a", "b", "c"}) {
    for (const char* layer : {"u", "v", "w", "x", "y"}) {
      const LayerTime time{board, layer, random.uniform(1, 100), random.uniform(1, 100)};
      measured.push_back(time);
      slower.push_back(time);
      if (slower.back().board == "b") slower.back().seconds *= 2;
    }
  }
  const LayerTime like{"b", "u", random.uniform(1, 100)};
  const double once = LayerTimes::fit(measured)->seconds(like).value();
  const double twice = LayerTimes::fit(slower)->seconds(like).value();
  RC_ASSERT(std::abs(twice / once - 2) < 1e-9);
}

}  // namespace
}  // namespace orrery::lab
