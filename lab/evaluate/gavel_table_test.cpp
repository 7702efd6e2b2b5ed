#include "lab/evaluate/gavel_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "env/sim_files.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

// One kind of GPU, jobs as "KEY": RATES.
std::string table_of(const std::vector<std::pair<std::string, std::string>>& jobs) {
  std::string json;
  for (const auto& [key, rates] : jobs) json += fmt::format("{}\"{}\": {}", json.empty() ? "" : ", ", key, rates);
  return "{\"v100\": {" + json + "}}";
}

std::string alone(double rate) {
  return fmt::format("{{\"null\": {}}}", rate);
}

TEST(GavelTable, AStepOfKWorkersTakesKOverTheirRate) {
  const auto runs = parse_gavel_table(table_of({{"('LM (batch size 5)', 1)", alone(10)},
                                                {"('LM (batch size 5)', 4)", "{\"null\": 16, \"('A3C', 1)\": [1, 2]}"},
                                                {"('LM (batch size 10)', 2)", alone(3)},
                                                {"('LM (batch size 5)', 8)", alone(0)},
                                                {"('A3C', 1)", alone(7)}}));
  ASSERT_TRUE(runs) << runs.error().to_string();
  ASSERT_EQ(runs->size(), 2U) << "batch 10 has no time alone, 8 GPUs did not fit, A3C has no batch";
  for (const GavelRun& run : *runs) {
    EXPECT_EQ(run.model, "LM");
    EXPECT_EQ(run.gpus, "v100");
    EXPECT_EQ(run.run.batch, 5);
    EXPECT_NEAR(run.run.alone_s, 0.1, 1e-12);
    EXPECT_NEAR(run.run.seconds, run.run.replicas == 4 ? 0.25 : 0.1, 1e-12);
  }
}

TEST(GavelTable, SaysWhatIsWrong) {
  const std::string wrong[] = {"",
                               "[]",
                               "{\"v100\": 3}",
                               table_of({{"LM", alone(1)}}),
                               table_of({{"('LM (batch size 5)', 0)", alone(1)}}),
                               table_of({{"('LM (batch size x)', 1)", alone(1)}}),
                               table_of({{"('LM (batch size 5)', 1)", "{\"null\": \"fast\"}"}}),
                               table_of({{"('LM (batch size 5)', 1)", "{}"}}),
                               table_of({{"(', 1)", alone(1)}})};
  for (const std::string& json : wrong) EXPECT_FALSE(parse_gavel_table(json)) << json;
}

RC_GTEST_PROP(GavelTable, AnyKeyGivesARunOrAnError, ()) {
  const auto part = rc::gen::element<std::string>("('", "', ", ")", " (batch size ", "LM", "2", "-1", "nan", "'");
  std::string key;
  for (const std::string& one : *rc::gen::container<std::vector<std::string>>(part)) key += one;
  const auto runs = parse_gavel_table(table_of({{key, alone(1)}}));
  if (!runs) return;
  for (const GavelRun& run : *runs) RC_ASSERT(run.run.replicas >= 1 && run.run.batch > 0);
}

TEST(GavelTable, ARunIsPredictedWithoutItself) {
  // A step takes 0.1 s alone and 0.4 s on two GPUs, but batch 20 of model A on two takes 4 s: nobody could know.
  env::SimFiles files;
  ASSERT_TRUE(files.make_directory("/gavel"));
  std::vector<std::pair<std::string, std::string>> jobs;
  for (const std::string model : {"A", "B"}) {
    for (const int batch : {5, 10, 20}) {
      const auto key = [&](int gpus) { return fmt::format("('{} (batch size {})', {})", model, batch, gpus); };
      jobs.emplace_back(key(1), alone(10));
      jobs.emplace_back(key(2), alone(model == "A" && batch == 20 ? 0.5 : 5));
    }
  }
  ASSERT_TRUE(files.write_atomically("/gavel/simulation_throughputs.json.gz", table_of(jobs)));
  const auto cases = gavel_cases(files, "/gavel");
  ASSERT_TRUE(cases) << cases.error().to_string();
  ASSERT_EQ(cases->size(), 12U);
  int odd = 0;
  for (const Case& c : *cases) {
    if (c.measured < 1000) continue;
    ++odd;
    EXPECT_LT(c.predicted, 500);
  }
  EXPECT_EQ(odd, 2);
}

}  // namespace
}  // namespace orrery::lab
