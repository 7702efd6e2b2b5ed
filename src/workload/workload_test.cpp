#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "workload/cost.h"
#include "workload/graph_builder.h"
#include "workload/zoo/zoo.h"

namespace orrery::workload {
namespace {

TEST(ShapeTest, BadDimensionsAreNamed) {
  const std::int64_t zero[] = {4, 0, 2};
  EXPECT_EQ(Shape::make(zero).error().message(), "dimension 1 of [4, 0, 2] is 0; expected at least 1");
  const std::int64_t huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_EQ(Shape::make(huge).error().message(),
            "dimension 1 of [1099511627776, 1099511627776] makes the tensor larger than 2^48 elements");
}

TEST(ZooTest, ResnetHasTheKnownParameterCounts) {
  EXPECT_EQ(build_model("resnet18")->parameter_count(), 11689512);
  EXPECT_EQ(build_model("resnet50")->parameter_count(), 25557032);
  EXPECT_EQ(build_model("alexnet")->parameter_count(), 61100840);
}

}  // namespace
}  // namespace orrery::workload
