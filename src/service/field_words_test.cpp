// Errors name a field as the source of the request spells it.

#include <gtest/gtest.h>

#include "base/yaml_options.h"
#include "env/sim_env.h"
#include "service/fit.h"
#include "service/plan.h"
#include "service/profile.h"
#include "service/steps.h"
#include "service/traces.h"

namespace orrery::service {
namespace {

template <class Request>
Request read(const Fields<Request>& fields, std::string_view json) {
  const std::vector<OptionRecord> records = fields.records();
  return fields.read(read_json(records, json).value()).value();
}

class FieldWords : public testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) { ASSERT_TRUE(sim_.files.write_atomically(path, text)); }
  env::Env env() { return sim_.env(); }

 private:
  env::SimEnv sim_;
};

TEST_F(FieldWords, OfAProfile) {
  Watch watch;
  const auto says = [&](std::string_view json) {
    return profile(env(), read(profile_fields(), json), watch).error().to_string();
  };
  EXPECT_EQ(says(R"({"model": "lenet", "time_max": "1h"})"), "time_max: is about several processes; give workers");
  EXPECT_EQ(says(R"({"model": "lenet", "workers": 2, "gpu": true})"), "gpu: is about one process; leave workers out");
  EXPECT_EQ(says(R"({"model": "lenet", "workers": 1, "form": "allreduce", "predict": true})"),
            "workers: a ring has two or more");
}

TEST_F(FieldWords, OfAPlan) {
  const auto says = [&](std::string_view json) { return plan(env(), read(plan_fields(), json)).error().to_string(); };
  EXPECT_EQ(says("{}"), "give a list of jobs, or an instance with instance FILE");
  EXPECT_EQ(says(R"({"jobs": "l.yaml", "horizon": "1d", "period": "1s"})"),
            "horizon: 86400 periods; at most 1000 are supported: make period 87s or longer");
  write("a.yaml", "job: a\nmodel: lenet\ntrain: {batch: 64, steps: 10}\nresources: {device: V100, count: 1}\n");
  write("l.yaml", "jobs: [{file: a.yaml}]\nspot: {}\n");
  EXPECT_EQ(says(R"({"jobs": "l.yaml"})"), "l.yaml: spot: machines are rented on demand; give spot");
  write("l.yaml", "jobs: [{file: a.yaml}]\nlimits: {budget_usd: 1}\n");
  EXPECT_EQ(says(R"({"jobs": "l.yaml"})"), "l.yaml: limits: a budget is for a horizon; give horizon");
}

TEST_F(FieldWords, OfStepsTracesAndFits) {
  write("e.csv", "epoch,loss\n1,3\n2,2\n3,1\n");
  EXPECT_EQ(estimate_steps(env(), read(estimate_steps_fields(), R"({"losses": "e.csv", "steps_per_epoch": 5})"))
                .error()
                .to_string(),
            "steps_per_epoch: e.csv counts epochs already");
  EXPECT_EQ(convert_trace(env(), read(trace_convert_fields(), R"({"file": "t.json"})")).error().to_string(),
            "to: missing; expected chrome, perfetto or orrery");
  Watch watch;
  EXPECT_EQ(fit(env(), read(fit_fields(), R"({"source": "s", "out": "none/x"})"), watch).error().to_string(),
            "out: there is no folder \"none\"");
  ASSERT_TRUE(env().files.make_directory("s"));
  write("s/index.csv", "");
  EXPECT_EQ(fit(env(), read(fit_fields(), R"({"source": "s"})"), watch).error().to_string(),
            "give device: which GPU of the folder's index");
}

}  // namespace
}  // namespace orrery::service
