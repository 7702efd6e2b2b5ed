#include "cli/command_test.h"

namespace orrery::cli {
namespace {

using ProfileWorkersTest = CommandTest;

TEST_F(ProfileWorkersTest, SaysWhatAWorkerWillUse) {
  const auto rows = json_of("profile resnet18 --predict --batch 8 --workers 2 --rate 50MB/s");
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
  const auto faster = json_of("profile resnet18 --predict --batch 8 --workers 2 --rate 100MB/s");
  EXPECT_NEAR(rows[3]["burst_s"].get<double>() / faster[3]["burst_s"].get<double>(), 2, 0.4);
}

TEST_F(ProfileWorkersTest, NamesWhatIsWrong) {
  EXPECT_EQ(call("profile resnet18 --workers 2 --predict --rate 50").errors,
            "orrery profile: --rate: expected 10kB/s to 4GB/s, not \"50\"\n");
  EXPECT_EQ(call("profile resnet18 --predict --form allreduce --workers 1").errors,
            "orrery profile: --workers: a ring has two or more\n");
  write("bad.model", "orrery-uses\n");
  EXPECT_TRUE(call("profile resnet18 --workers 2 --predict --predictor bad.model")
                  .errors.starts_with("orrery profile: bad.model: "));
}

TEST_F(ProfileWorkersTest, RefusesFieldsOfOtherMeasurements) {
  const auto says = [&](const char* line, const char* words) { EXPECT_EQ(call(line).errors, words) << line; };
  says("profile lenet --form ps", "orrery profile: --form: is about several processes; give --workers\n");
  says("profile lenet --rate 1MB/s", "orrery profile: --rate: is about several processes; give --workers\n");
  says("profile lenet --workers 2 --gpu", "orrery profile: --gpu: is about one process; leave --workers out\n");
  says("profile lenet --workers 2 --top 3", "orrery profile: --top is about operators; leave --workers out\n");
  says("profile lenet --workers 2 --predict --isolate",
       "orrery profile: --isolate: is about processes that run; leave --predict out\n");
  says("profile lenet --workers 2 --rate 1MB/s",
       "orrery profile: --rate limits the network of isolated processes; add --isolate\n");
  says("profile lenet --out here", "orrery profile: --out is for measured workers; give --workers\n");
}

TEST_F(ProfileWorkersTest, TheProcessIsInNoList) {
  EXPECT_EQ(call("help").output.find("role"), std::string::npos);
  EXPECT_EQ(call("reference").output.find("profile role"), std::string::npos);
  EXPECT_EQ(call("completion bash").output.find("profile role"), std::string::npos);
  EXPECT_NE(call("profile role --help").output.find("--rank"), std::string::npos);
}

}  // namespace
}  // namespace orrery::cli
