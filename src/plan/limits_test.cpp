#include "plan/limits.h"

#include <cmath>
#include <gtest/gtest.h>

#include "plan/checker.h"
#include "plan/test_instance.h"

namespace orrery::plan {
namespace {

using Json = nlohmann::json;

// Two types of two GPUs at 3.6 $/h (0.001 $/s); a has 100 s left on one GPU of them, b 200 s.
Json two_jobs() {
  const auto type = [](const char* name) {
    return Json{{"name", name}, {"gpu", "K80"}, {"gpus", 2}, {"price_usd_h", 3.6}};
  };
  const auto job = [](const char* id, double time) {
    return Json{
        {"id", id}, {"submit_s", 0}, {"due_s", 1000}, {"weight_usd_s", 1}, {"times_s", {{"K80", {time, time / 2}}}}};
  };
  Json json = {{"nodes", 2}, {"now_s", 0}, {"horizon_s", 50}, {"rho", 1}, {"kappa", 0}, {"wait_fraction", 1}};
  json["vm_types"] = Json::array({type("one"), type("two")});
  json["jobs"] = Json::array({job("a", 100), job("b", 200)});
  return json;
}

std::string problem(const Json& json) {
  const auto instance = read_instance(json.dump(), "f");
  return instance ? "" : instance.error().to_string();
}

Instance read(const Json& json) {
  return read_instance(json.dump(), "f").value();
}

std::string broken(const Instance& instance, const Plan& plan) {
  const auto cost = check_plan(instance, Objective::kWait, plan);
  return cost ? "" : cost.error().to_string();
}

TEST(LimitsTest, SayWhichLimitPinnedJobsBreakAndByHowMuch) {
  Json json = two_jobs();
  json["jobs"][0]["running"] = {{"vm", "one"}, {"gpus", 1}, {"pinned_on", "m1"}};
  json["jobs"][1]["running"] = {{"vm", "one"}, {"gpus", 2}, {"pinned_on", "m1"}};
  EXPECT_NE(problem(json).find("hold 3 GPUs, a one has 2: 1 too many"), std::string::npos) << problem(json);
  json["jobs"][1]["running"] = {{"vm", "two"}, {"gpus", 1}, {"pinned_on", "m1"}};
  EXPECT_NE(problem(json).find("\"m1\" is a one for one job and a two for another"), std::string::npos)
      << problem(json);
  json["jobs"][1]["running"]["pinned_on"] = "m2";
  EXPECT_EQ(problem(json), "");
  json["nodes"] = 1;
  EXPECT_NE(problem(json).find("2 machines have pinned jobs, 1 may be open: 1 too many"), std::string::npos)
      << problem(json);
  json["nodes"] = 2;
  json["quotas"] = {{{"name", "west"}, {"vm_types", {"one", "two"}}, {"max_gpus", 3}}};
  EXPECT_NE(problem(json).find("quota \"west\": machines with pinned jobs have 4 GPUs, 3 are allowed: 1 too many"),
            std::string::npos)
      << problem(json);
  json.erase("quotas");
  // a: 0.0005·(100 + 50), b: 0.0005·(200 + 50).
  json["budget_usd"] = 0.19;
  EXPECT_NE(problem(json).find("cost 0.20 USD, 0.19 are allowed: 0.01 too much"), std::string::npos) << problem(json);
  json["budget_usd"] = 0.21;
  EXPECT_EQ(problem(json), "");
}

TEST(LimitsTest, NameTheFieldThatIsWrong) {
  const auto with = [](auto change) {
    Json json = two_jobs();
    change(json);
    return problem(json);
  };
  const auto says = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(with([](Json& j) {
         j["jobs"][0]["running"] = {{"vm", "ones"}, {"gpus", 1}};
       }),
       "jobs[0].running.vm: no VM type");
  says(with([](Json& j) { j["jobs"][0]["running"] = {{"vm", "one"}, {"gpus", 3}}; }), "jobs[0].running.gpus");
  says(with([](Json& j) { j["jobs"][1]["switch_s"] = -1; }), "jobs[1].switch_s");
  says(with([](Json& j) {
         j["quotas"] = {{{"name", "q"}, {"vm_types", {"one", "one"}}, {"max_gpus", 1}}};
       }),
       "quotas[0].vm_types[1]: is there twice");
  says(with([](Json& j) { j["vm_types"][0]["spot"] = {{"save_every_s", 0}}; }), "vm_types[0].spot.save_every_s");
  says(with([](Json& j) { j["budget_usd"] = "much"; }), "budget_usd: expected a number");
  Json json = two_jobs();
  json["jobs"][0]["memory_gib"] = {24, 13};
  for (Json& type : json["vm_types"]) type["memory_gib"] = 12;
  says(problem(json), "job \"a\": memory_gib: no VM type has enough; nearest is one, whose GPUs lack 1 GiB");
  EXPECT_EQ(read_instance(json.dump(), "f").error().code(), ErrorCode::kInfeasible);
}

TEST(LimitsTest, TheCheckerKnowsWhatStaysAndWhatIsAllowed) {
  Json json = two_jobs();
  json["jobs"][0]["running"] = {{"vm", "one"}, {"gpus", 1}, {"pinned_on", "m1"}};
  json["quotas"] = {{{"name", "west"}, {"vm_types", {"one", "two"}}, {"max_gpus", 2}}};
  json["budget_usd"] = 0.14;
  const Instance instance = read(json);
  EXPECT_EQ(broken(instance, {{{0, {{0, 1}}}}}), "");
  EXPECT_NE(broken(instance, {}).find("1 pinned jobs do not run"), std::string::npos);
  EXPECT_NE(broken(instance, {{{1, {{0, 1}}}}}).find("job a is pinned on m1"), std::string::npos);
  EXPECT_NE(broken(instance, {{{0, {{0, 2}}}}}).find("job a is pinned on m1"), std::string::npos);
  EXPECT_NE(broken(instance, {{{0, {{0, 1}}}, {1, {{1, 1}}}}}).find("quota west: 4 GPUs are open, 2 may be"),
            std::string::npos);
  // Beside a, b costs 0.0005·200 of rent, and no GPU is idle: 0.15.
  EXPECT_NE(broken(instance, {{{0, {{0, 1}, {1, 1}}}}}).find("0.15 USD of rent, 0.14 are allowed: 0.01 too much"),
            std::string::npos);
}

TEST(LimitsTest, SwitchingTakesTimeUnlessAJobGoesOn) {
  Json json = two_jobs();
  json["jobs"][0]["running"] = {{"vm", "one"}, {"gpus", 1}};
  json["jobs"][0]["switch_s"] = 30;
  const Instance instance = read(json);
  EXPECT_DOUBLE_EQ(*run_s(instance, instance.jobs[0], 0, 1), 100);
  EXPECT_DOUBLE_EQ(*run_s(instance, instance.jobs[0], 0, 2), 80);
  EXPECT_DOUBLE_EQ(*run_s(instance, instance.jobs[0], 1, 1), 130);
  // 0.0005·130 of rent and 0.0005·50 idle, b postponed; half a nano-dollar for each term.
  const auto moved = check_plan(instance, Objective::kWait, {{{1, {{0, 1}}}}});
  const auto stayed = check_plan(instance, Objective::kWait, {{{0, {{0, 1}}}}});
  ASSERT_TRUE(moved && stayed);
  EXPECT_EQ(*moved - *stayed, 15'000'000);  // 30 s of one GPU
}

TEST(LimitsTest, SpotMachinesTakeTheExpectedTime) {
  Json json = two_jobs();
  json["vm_types"][0]["spot"] = {{"interruptions_per_h", 3.6}, {"save_every_s", 60}, {"save_s", 5}, {"restart_s", 20}};
  const Instance instance = read(json);
  // 100 s of work at 0.001/s: a segment of 60 + 5 s and one of 40 s.
  const double expected = std::exp(0.02) * (std::expm1(0.065) + std::expm1(0.04)) / 0.001;
  EXPECT_NEAR(*time_s(instance.jobs[0], instance.vm_types[0], 1), expected, 1e-9);
  EXPECT_DOUBLE_EQ(*time_s(instance.jobs[0], instance.vm_types[1], 1), 100);
}

TEST(NodeLimitsTest, CountNodesTypesAndQuotas) {
  Json json = two_jobs();
  json["nodes"] = 3;
  json["vm_types"][0]["max_nodes"] = 1;
  json["quotas"] = {{{"name", "west"}, {"vm_types", {"one", "two"}}, {"max_gpus", 5}}};
  const Instance instance = read(json);
  NodeLimits limits(instance);
  limits.open(0);
  EXPECT_FALSE(limits.may_open(0));  // of its type
  EXPECT_TRUE(limits.may_open(1));
  limits.open(1);
  EXPECT_FALSE(limits.may_open(1));  // 4 of 5 GPUs
  EXPECT_FALSE(limits.may_become(1, 0));
  EXPECT_TRUE(limits.may_become(0, 1));
  limits.close(0);
  EXPECT_TRUE(limits.may_open(0));
  EXPECT_EQ(limits.open_nodes(), 1);
}

}  // namespace
}  // namespace orrery::plan
