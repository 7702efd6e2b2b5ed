#include <cmath>

#include "cli/command_test.h"

namespace orrery::cli {
namespace {

using WhatifTest = CommandTest;

TEST_F(WhatifTest, EveryRowIsWhatPredictSays) {
  const std::string run = "resnet50 --gpus-per-node 2 --steps 100 ";
  const auto rows =
      json_of("whatif " + run +
              "--device V100 --count 4 --batch-per-gpu 32 --to-device A100 --to-count 2,8 --to-gpus-per-node 4 "
              "--to-network 10G --to-batch-per-gpu 64 --to-precision fp16");
  const std::string same[] = {"--device V100 --count 4 --batch-per-gpu 32",
                              "--device A100 --count 4 --batch-per-gpu 32",
                              "--device V100 --count 2 --batch-per-gpu 32",
                              "--device V100 --count 8 --batch-per-gpu 32",
                              "--device V100 --count 4 --batch-per-gpu 32 --gpus-per-node 4",
                              "--device V100 --count 4 --batch-per-gpu 32 --network 10G",
                              "--device V100 --count 4 --batch-per-gpu 64",
                              "--device V100 --count 4 --batch-per-gpu 32 --precision fp16"};
  ASSERT_EQ(rows.size(), std::size(same));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // The last --gpus-per-node counts.
    const std::string line =
        same[i].find("--gpus-per-node") == std::string::npos ? run + same[i] : "resnet50 " + same[i];
    const auto predicted = json_of("predict " + line)[0];
    for (const char* key : {"device", "devices", "batch", "iteration_s", "iteration_low_s", "iteration_high_s",
                            "samples_per_s", "memory_bytes", "bound"}) {
      EXPECT_EQ(rows[i][key], predicted[key]) << rows[i]["change"] << " " << key;
    }
  }
  EXPECT_EQ(rows[0]["change"], "as it is");
  EXPECT_EQ(rows[1]["change"], "on A100");
  EXPECT_EQ(rows[5]["change"], "network 10G");
}

TEST_F(WhatifTest, EveryRowTrainsTheSameSamples) {
  const auto rows =
      json_of("whatif resnet18 --device V100 --batch-per-gpu 32 --steps 1000 --to-count 4 --to-batch-per-gpu 64,48");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["steps"], 1000);
  EXPECT_EQ(rows[1]["steps"], 250) << "four replicas of 32";
  EXPECT_EQ(rows[2]["steps"], 500);
  EXPECT_EQ(rows[3]["steps"], 667) << "32 000 / 48, rounded up";
  for (const auto& row : rows) {
    EXPECT_NEAR(row["total_s"].get<double>(), row["iteration_s"].get<double>() * row["steps"].get<double>(),
                1e-6 * row["total_s"].get<double>());
    EXPECT_NEAR(row["speedup"].get<double>() * row["total_s"].get<double>(), rows[0]["total_s"].get<double>(), 1e-6);
    EXPECT_GT(row["bound_share"].get<double>(), 0.2);
    EXPECT_LE(row["bound_share"].get<double>(), 1.0);
  }
}

TEST_F(WhatifTest, ALargerBatchIsWorthLessByTheNoiseOfGradients) {
  const auto rows =
      json_of("whatif resnet18 --device V100 --batch-per-gpu 32 --to-count 4 --to-batch-per-gpu 64 --noise-scale 96");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["efficiency"].get<double>(), 1);
  EXPECT_NEAR(rows[1]["efficiency"].get<double>(), (96.0 + 32) / (96 + 128), 1e-9);
  EXPECT_NEAR(rows[2]["efficiency"].get<double>(), (96.0 + 32) / (96 + 64), 1e-9);
  EXPECT_NEAR(rows[1]["goodput_speedup"].get<double>(),
              rows[1]["speedup"].get<double>() * rows[1]["efficiency"].get<double>(), 1e-9);
  EXPECT_TRUE(json_of("whatif resnet18 --device V100 --to-count 4")[0]["efficiency"].is_null());
}

TEST_F(WhatifTest, AJobKeepsItsGlobalBatch) {
  write("job.yaml", "job: j\nmodel: resnet18\ntrain: {batch: 64, steps: 100}\nresources: {device: V100, count: 2}\n");
  const auto rows = json_of("whatif job.yaml --to-device T4 --to-count 4,3");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["device"], "V100");
  EXPECT_EQ(rows[0]["devices"], 2);
  EXPECT_EQ(rows[0]["batch_per_gpu"], 32);
  EXPECT_EQ(rows[1]["device"], "T4");
  EXPECT_EQ(rows[1]["devices"], 2);
  EXPECT_EQ(rows[2]["batch_per_gpu"], 16) << "shared by four";
  EXPECT_TRUE(rows[3]["iteration_s"].is_null()) << "64 cannot be shared by three";
  EXPECT_TRUE(rows[3]["note"].get<std::string>().starts_with("cannot run: ")) << rows[3]["note"];
}

TEST_F(WhatifTest, WhatDoesNotFitIsSaid) {
  const auto rows = json_of("whatif resnet50 --device V100 --batch-per-gpu 16 --to-batch-per-gpu 4096");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0]["note"].is_null());
  EXPECT_TRUE(rows[1]["note"].get<std::string>().starts_with("does not fit: needs ")) << rows[1]["note"];
}

TEST_F(WhatifTest, SaysWhatIsWrong) {
  const Outcome nothing = call("whatif resnet18");
  EXPECT_EQ(nothing.exit_code, kBadInput);
  EXPECT_NE(nothing.errors.find("nothing to change"), std::string::npos);
  const Outcome unknown = call("whatif resnet18 --to-device V10O");
  EXPECT_EQ(unknown.exit_code, kDone) << "a row says so, the others are answered";
  EXPECT_NE(unknown.output.find("did you mean"), std::string::npos) << unknown.output;
  EXPECT_EQ(call("whatif resnet18 --device V10O --to-count 2").exit_code, kBadInput);
  EXPECT_EQ(call("whatif resnet18 --to-count 0").exit_code, kBadInput);
  EXPECT_EQ(call("whatif resnet18 --to-precision fp7").exit_code, kBadInput);
}

}  // namespace
}  // namespace orrery::cli
