#include "plan/list_limits.h"

#include <gtest/gtest.h>

#include "plan/job_list.h"

namespace orrery::plan {
namespace {

std::string error_of(const std::string& fields) {
  const auto list = read_job_list("jobs: [{file: a}]\n" + fields, "l");
  return list ? "none" : list.error().to_string();
}

TEST(ListLimitsTest, ReadsWhatMayBeRented) {
  const auto list = read_job_list(R"(jobs: [{file: a, running: {vm: four, gpus: 2}}]
forecast: [{file: b, per_h: 0.5, from: 1h, until: 8h}]
limits:
  budget_usd: 100
  budget_kgco2: 5
  quotas: [{name: all, match: [acme, T4], max_gpus: 8}, {match: ONE, max_gpus: 0}]
  vm_types: [{match: four, max_nodes: 1}]
energy: {usd_per_kwh: 0.3, overhead: 2, start_hour: 8}
spot: {interruptions_per_h: 0.1, save_every: 10m}
switch: 60s
)",
                                  "l");
  ASSERT_TRUE(list) << list.error().to_string();
  EXPECT_EQ(list->jobs[0].running->gpus, 2);
  EXPECT_EQ(list->forecasts[0].until, Seconds(8 * 3600));
  EXPECT_EQ(list->limits.budget_usd, 100);
  EXPECT_EQ(list->energy.usd_per_kwh, std::vector{0.3});
  EXPECT_EQ(list->spot->save_every, Seconds(600));
  EXPECT_EQ(list->spot->restart, SpotRules().restart);
  EXPECT_EQ(list->switch_time, Seconds(60));
  std::vector<VmType> types = {{"acme one", "V100", 1, 1}, {"acme four", "V100", 4, 3}, {"other", "T4", 2, 1}};
  ASSERT_TRUE(apply_limits(list->limits, "l", types));
  EXPECT_EQ(types[0].nodes_max, 0);
  EXPECT_EQ(types[1].nodes_max, 1);
  EXPECT_EQ(types[2].nodes_max, 4);
  const std::vector<Quota> quotas = quotas_on(list->limits, types);
  ASSERT_EQ(quotas.size(), 2U);
  EXPECT_EQ(quotas[0].vms.size(), 3U);
  types.erase(types.begin(), types.begin() + 2);
  EXPECT_EQ(apply_limits(list->limits, "l", types).error().to_string(),
            "l:7: match: no VM type that can be rented has \"four\" in its name or that of its GPU");
}

TEST(ListLimitsTest, NamesMistakes) {
  const auto says = [](const std::string& fields, std::string_view words) {
    EXPECT_NE(error_of(fields).find(words), std::string::npos) << error_of(fields);
  };
  says("limits: {budget_usd: -1}", "l:2: limits.budget_usd: -1 is out of range");
  says("limits: {budgets: 1}", "limits.budgets: unknown field");
  says("limits: {quotas: [{match: a}]}", "limits.quotas[0].max_gpus: missing");
  says("limits: {quotas: [{max_gpus: 3}]}", "limits.quotas[0].match: expected part of the name");
  says("limits: {vm_types: [{match: a, max_nodes: 1.5}]}", "limits.vm_types[0].max_nodes: expected a whole number");
  says("energy: {usd_per_kwh: [1, 2]}", "energy.usd_per_kwh: expected a number from 0 to 100, or 24");
  says("energy: {usd_per_kwh: much}", "energy.usd_per_kwh: expected a number");
  says("energy: {overhead: 0.5}", "energy.overhead: 0.5 is out of range");
  says("spot: {save_every: 0s}", "spot.save_every: expected at least 1s");
  says("forecast: [{file: b}]", "forecast[0].per_h: expected how many come in an hour");
  says("forecast: [{file: b, per_h: 1, from: 2h, until: 1h}]", "forecast[0].until: expected a time after `from`");
  says("switch: soon", "l:2: switch: \"soon\" is no time");
  EXPECT_NE(read_job_list("jobs: [{file: a, submit: 1h, running: {vm: x}}]", "l")
                .error()
                .to_string()
                .find("a job that is running came before the start"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::plan
