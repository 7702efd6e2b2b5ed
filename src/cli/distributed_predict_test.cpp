#include "cli/command_test.h"

namespace orrery::cli {
namespace {

using DistributedPredictTest = CommandTest;

TEST_F(DistributedPredictTest, SaysWhatAWorkerWillUse) {
  const auto rows = json_of("distributed predict resnet18 --batch 8 --workers 2 --rate 50MB/s");
  ASSERT_EQ(rows.size(), 4);
  const double gradients = 4 * 11'689'512.0;
  for (const auto& row : rows) {
    EXPECT_LE(row["amount_low"], row["amount"]);
    EXPECT_LE(row["amount"], row["amount_high"]);
    if (row["unit"] != "B/s") continue;
    EXPECT_NEAR(row["burst_bytes"].get<double>() / gradients, 1, 0.1) << row.dump();
    EXPECT_LE(row["amount"], 50e6 * 1.05);
    EXPECT_LE(row["burst_low_s"], row["burst_s"]);
  }
  // Twice the rate: bursts of about half the length.
  const auto faster = json_of("distributed predict resnet18 --batch 8 --workers 2 --rate 100MB/s");
  EXPECT_NEAR(rows[3]["burst_s"].get<double>() / faster[3]["burst_s"].get<double>(), 2, 0.4);
}

TEST_F(DistributedPredictTest, NamesWhatIsWrong) {
  EXPECT_EQ(call("distributed predict resnet18 --rate 50").errors,
            "orrery distributed predict: --rate: expected 10kB/s to 4GB/s, not \"50\"\n");
  EXPECT_EQ(call("distributed predict resnet18 --form allreduce --workers 1").errors,
            "orrery distributed predict: --workers: a ring has two or more\n");
  write("bad.model", "orrery-uses\n");
  EXPECT_TRUE(call("distributed predict resnet18 --predictor bad.model")
                  .errors.starts_with("orrery distributed predict: bad.model: "));
}

}  // namespace
}  // namespace orrery::cli
