#include "lab/experiments/measured_kinds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "env/sim_env.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

TEST(FilledTimesTest, MissingNumbersLieOnTheCurve) {
  // 1 + 4/g at 1, 2 and 4.
  EXPECT_EQ(filled_times({{1, 5}, {2, 3}, {4, 2}}, 4)[3], 2);
  EXPECT_NEAR(filled_times({{1, 5}, {2, 3}, {4, 2}}, 4)[2], 1 + 4.0 / 3, 1e-12);
  // More GPUs that were slower: the mean, not a time that grows for ever.
  EXPECT_NEAR(filled_times({{1, 2}, {4, 4}}, 3)[1], 3, 1e-12);
  // Faster than g times: 0 + b/g.
  EXPECT_NEAR(filled_times({{1, 8}, {2, 2}}, 4)[3], (8 + 1) / 1.25 / 4, 1e-12);
}

class MeasuredTimesTest : public testing::Test {
 protected:
  // Runs of every kind: a row is GFLOP/s, GPUs, global batch, iterations, seconds.
  void write(const std::string& file, const std::string& rows) {
    const std::string text =
        "GFlops(7),GPU number(9),batch size(13),Real Iterations Number(15),overall execution time(31)\n" + rows;
    ASSERT_TRUE(sim_.env().files.write_atomically("/runs/" + file, text));
  }
  void write_all() {
    ASSERT_TRUE(sim_.env().files.make_directory("/runs"));
    for (const JobKind& kind : published_kinds()) {
      const std::int64_t two = kind.batch * (kind.batch_of_each_gpu ? 2 : 1);
      // On one GPU 10, 30 and 20 s an iteration; another batch and a K80 without a second number do not count.
      write(std::string(kind.table),
            fmt::format("7365,1,{0},10,100\n7365,1,{0},10,300\n7365,1,{0},10,200\n7365,2,{1},10,150\n"
                        "7365,1,7777,10,1\n5591,1,{0},10,50\n",
                        kind.batch, two));
    }
  }
  env::SimEnv sim_;
};

TEST_F(MeasuredTimesTest, AreMediansOfTheBatchOfTheKind) {
  write_all();
  const auto times = measured_times(published_market(2, false), sim_.env().files, "/runs");
  ASSERT_TRUE(times) << times.error().to_string();
  for (std::size_t i = 0; i < times->size(); ++i) {
    const JobKind& kind = published_kinds()[i];
    EXPECT_FALSE((*times)[i].sample_s.contains("K80"));
    const auto& on = (*times)[i].sample_s.at("M60");
    ASSERT_EQ(on.size(), 4U);
    const auto batch = static_cast<double>(kind.batch);
    EXPECT_DOUBLE_EQ(on[0].value, 20 / batch);
    EXPECT_DOUBLE_EQ(on[1].value, 15 / batch / (kind.batch_of_each_gpu ? 2 : 1));
    EXPECT_LT(on[3].value, on[1].value);
  }
}

TEST_F(MeasuredTimesTest, SaysWhatIsMissing) {
  EXPECT_FALSE(measured_times(published_market(2, false), sim_.env().files, "/runs"));
  write_all();
  write("alexnet_pt.csv", "7365,1,256,10,100\n");
  const auto times = measured_times(published_market(2, false), sim_.env().files, "/runs");
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code(), ErrorCode::kInfeasible);
  EXPECT_NE(times.error().to_string().find("alexnet_pt.csv"), std::string::npos) << times.error().to_string();
}

}  // namespace
}  // namespace orrery::lab
