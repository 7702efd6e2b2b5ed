#include "cli/command_test.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kPrices =
    "provider,instance_type,accelerator,count,vcpus,memory_gib,gpu_memory_gib,region,price_usd_h,spot_usd_h\n"
    "acme,one,V100,1,8,64,16,north,3.0,1.0\n"
    "acme,one,V100,1,8,64,16,south,3.5,\n"
    "acme,eight,V100,8,64,512,16,north,24,8\n"
    "acme,small,T4,1,4,16,16,north,0.5,\n";

class ChooseTest : public CommandTest {
 protected:
  ChooseTest() { write("prices.csv", kPrices); }
  nlohmann::json chosen(const std::string& more) {
    for (const auto& row :
         json_of("choose resnet18 --steps 100000 --catalog prices.csv" + (more.empty() ? "" : " " + more)))
      if (row["chosen"] == "CHOSEN") return row;
    return {};
  }
};

TEST_F(ChooseTest, TheCheapestWithinTheDeadlineOrTheFastestWithinTheBudget) {
  const auto cheapest = chosen("");
  EXPECT_EQ(chosen("--goal cost"), cheapest);
  const auto fastest = chosen("--goal time");
  EXPECT_LT(fastest["time_s"], cheapest["time_s"]);
  EXPECT_EQ(fastest["instance"], "eight");
  // A deadline that the cheapest keeps only on average is not kept with certainty.
  const double hours_on_average = cheapest["time_s"].get<double>() / 3600 * 1.01;
  EXPECT_NE(chosen(fmt::format("--deadline {}h", hours_on_average)), cheapest);
  EXPECT_EQ(chosen(fmt::format("--deadline {}h --certainty 0.5", hours_on_average)), cheapest);
  EXPECT_GE(fastest["cost_high_usd"].get<double>(), fastest["cost_usd"].get<double>());
  const auto within = chosen(fmt::format("--budget {}", fastest["cost_usd"].get<double>() * 0.9));
  EXPECT_LT(within["cost_usd"], fastest["cost_usd"]);
}

// 100 steps of 16 samples: 1,600 of them.
TEST_F(ChooseTest, NoDeviceIsRentedThatHasNothingToTrainOn) {
  const std::string asked =
      "choose resnet18 --catalog prices.csv --batch-per-gpu 16 --steps 100 --goal time --nodes 1,2,16,4096";
  for (const auto& row : json_of(asked + " --all")) {
    const auto devices = row["devices"].get<std::int64_t>();
    const bool idle = (devices - 1) * 16 >= 1600;
    EXPECT_EQ(row["why"] == "has more devices than samples for them", idle) << row["why"] << " " << devices;
    EXPECT_FALSE(idle && row["chosen"] == "CHOSEN");
  }
  for (const auto& row : json_of(asked)) EXPECT_LE(row["devices"].get<std::int64_t>(), 100);
}

TEST_F(ChooseTest, OnlyTheDevicesAskedForAreRented) {
  for (const auto& row : json_of("choose resnet18 --catalog prices.csv --device t4 --all"))
    EXPECT_EQ(row["device"], "T4");
  EXPECT_NE(call("choose resnet18 --catalog prices.csv --device T5").errors.find("did you mean"), std::string::npos);
  const Outcome none = call("choose resnet18 --catalog prices.csv --device H100");
  EXPECT_NE(none.errors.find("another device"), std::string::npos) << none.errors;
}

TEST_F(ChooseTest, ADeadlineIsATime) {
  const auto in_hours = chosen("--deadline 24h");
  EXPECT_EQ(chosen("--deadline 1d"), in_hours);
  EXPECT_EQ(chosen("--deadline 1440m"), in_hours);
  for (const char* wrong : {"0s", "24", "-3h", "soon", "nan"}) {
    const Outcome outcome = call(fmt::format("choose resnet18 --catalog prices.csv --deadline {}", wrong));
    EXPECT_EQ(outcome.exit_code, kBadInput) << wrong;
    EXPECT_NE(outcome.errors.find("--deadline: "), std::string::npos) << outcome.errors;
  }
}

TEST_F(ChooseTest, EveryConfigurationHasItsReason) {
  const auto rows =
      json_of("choose resnet18 --steps 10000 --catalog prices.csv --batch-per-gpu 32,8192 --nodes 1,2 --all");
  EXPECT_EQ(rows.size(), 4U * 2 * 2);
  std::size_t too_large = 0;
  for (const auto& row : rows) {
    EXPECT_FALSE(row["why"].get<std::string>().empty());
    too_large += row["why"].get<std::string>().starts_with("does not fit: needs ");
    if (row["region"] == "south" && row["batch_per_gpu"] == 32) {
      EXPECT_EQ(row["why"].get<std::string>().find("same device and number, no dearer at "), 0U) << row["why"];
    }
  }
  EXPECT_EQ(too_large, 8U);
}

TEST_F(ChooseTest, SpotMachinesAreInterrupted) {
  const auto spot = chosen("--spot --interruptions 0.5 --batch-per-gpu 32");
  EXPECT_EQ(spot["rented"], "spot");
  EXPECT_GT(spot["interruptions"].get<double>(), 0);
  EXPECT_GT(spot["lost_s"].get<double>(), 0);
  // So often that nothing gets done.
  EXPECT_EQ(chosen("--spot --interruptions 900 --save-every 10h")["rented"], "on demand");
}

TEST_F(ChooseTest, WhatIsNearestWhenNothingWillDo) {
  const Outcome late = call("choose resnet18 --steps 100000 --catalog prices.csv --deadline 3.6s");
  EXPECT_EQ(late.exit_code, kFailed);
  EXPECT_NE(late.errors.find("nearest:\n  4 × acme eight in north"), std::string::npos) << late.errors;
  EXPECT_NE(late.errors.find("misses the deadline by "), std::string::npos) << late.errors;
  const Outcome large = call("choose resnet18 --batch-per-gpu 65536 --catalog prices.csv");
  EXPECT_NE(large.errors.find("does not fit: needs "), std::string::npos) << large.errors;
  write("none.csv", "provider,instance_type,accelerator,count,price_usd_h\nacme,x,Abacus,1,1\n");
  EXPECT_NE(call("choose resnet18 --catalog none.csv").errors.find("3 unknown device"), std::string::npos);
}

TEST_F(ChooseTest, SaysWhichPredictorPredictedAndWhatOthersWouldChoose) {
  const Outcome text =
      call("choose resnet18 --catalog prices.csv --date 2026-08 --predictor analytic,auto --plot front.svg");
  ASSERT_EQ(text.exit_code, kDone) << text.errors;
  EXPECT_EQ(text.output.find("CHOSEN acme "), 0U) << text.output;
  EXPECT_NE(text.output.find("newest price of 2026-08"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("\nauto would choose acme "), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("front.svg"), std::string::npos) << text.output;
  EXPECT_EQ(chosen("--predictor analytic")["predictor"], "analytic");
}

}  // namespace
}  // namespace orrery::cli
