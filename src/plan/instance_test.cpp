#include "plan/instance.h"

#include <gtest/gtest.h>

#include "plan/test_instance.h"

namespace orrery::plan {
namespace {

using nlohmann::json;

TEST(PlanInstance, IsReadWithOrWithoutItsFrame) {
  const json bare = synthetic_json(1, {});
  const json framed = {{"format", "capacity-oracle-1"}, {"instance", bare}};
  for (const json& one : {bare, framed}) {
    const auto instance = read_instance(one.dump(), "f");
    ASSERT_TRUE(instance) << instance.error().to_string();
    EXPECT_EQ(instance->nodes, 2);
    EXPECT_EQ(instance->jobs.size(), 4U);
    EXPECT_EQ(instance->vm_types[1].nodes_max, 1);
    EXPECT_EQ(instance->vm_types[0].nodes_max, kNodesMax);
  }
}

TEST(PlanInstance, MistakesAreNamed) {
  struct Case {
    const char* path;
    json value;
    const char* message;
  };
  const Case cases[] = {
      {"/nodes", 0, "f: instance.nodes: 0 is out of range; expected 1 to 100000"},
      {"/nodes", 1.5, "f: instance.nodes: expected a whole number"},
      {"/horizon_s", 0, "f: instance.horizon_s: a time must be more than 0 s"},
      {"/rho", -1, "f: instance.rho: -1 is out of range; expected 0 to 1e+06"},
      {"/vm_types", json::array(), "f: instance.vm_types: expected a list with at least one entry"},
      {"/vm_types/0/price_usd_h", 1e9,
       "f: instance.vm_types[0].price_usd_h: 1e+09 is out of range; expected 0 to 100000"},
      {"/vm_types/0/price_usd_h", -1, "f: instance.vm_types[0].price_usd_h: -1 is out of range; expected 0 to 100000"},
      {"/vm_types/2/gpus", 17, "f: instance.vm_types[2].gpus: 17 is out of range; expected 1 to 16"},
      {"/vm_types/1/name", "vm0", "f: instance.vm_types: \"vm0\" is there twice"},
      {"/jobs/1/times_s/A/0", 0, "f: instance.jobs[1].times_s.A[0]: a time must be more than 0 s"},
      {"/jobs/1/times_s/A/2", -5, "f: instance.jobs[1].times_s.A[2]: -5 is out of range; expected 0 to 1e+09"},
      {"/jobs/0/times_s", json::object(),
       "f: instance.jobs[0].times_s: expected an object with the times by type of GPU"},
      {"/jobs/0/times_s",
       {{"V100", {5}}},
       "f: instance.jobs[0]: job \"J0\": times_s has none of the GPUs that can be rented (\"A, B\")"},
      {"/jobs/3/weight_usd_s", "x", "f: instance.jobs[3].weight_usd_s: expected a number"},
      {"/jobs/3/id", "", "f: instance.jobs[3].id: expected 1 to 200 printable bytes"},
      {"/jobs/3", 7, "f: instance.jobs[3]: expected an object"},
  };
  for (const Case& one : cases) {
    json text = synthetic_json(1, {});
    text[json::json_pointer(one.path)] = one.value;
    const auto instance = read_instance(text.dump(), "f");
    ASSERT_FALSE(instance) << one.path;
    EXPECT_EQ(instance.error().to_string(), one.message);
  }
  json text = synthetic_json(1, {});
  text.erase("now_s");
  EXPECT_EQ(read_instance(text.dump(), "f").error().to_string(), "f: instance.now_s: missing");
  EXPECT_EQ(read_instance("{\"a\":", "f").error().to_string(), "f: not JSON at byte 6");
  EXPECT_EQ(read_instance("{\"format\":\"x\"}", "f").error().to_string(), "f: format: expected \"capacity-oracle-1\"");
}

TEST(PlanInstance, CostsThatCannotBeAddedUpAreRefused) {
  json text = synthetic_json(1, {});
  text["rho"] = 1e6;
  text["jobs"][0]["weight_usd_s"] = 1e12;
  const auto instance = read_instance(text.dump(), "f");
  ASSERT_FALSE(instance);
  EXPECT_NE(instance.error().message().find("expected at most 1e+15: check prices"), std::string::npos);
}

}  // namespace
}  // namespace orrery::plan
