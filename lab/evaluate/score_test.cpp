#include "lab/evaluate/score.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab/lab.h"

namespace orrery::lab {
namespace {

TEST(Score, ArithmeticOfFourCases) {
  // Errors 0.1, 0.2, 0.3, 0.4 of 10 ms: mean and median 0.25, 90th percentile 0.3 + 0.7 · 0.1, RMSE √7.5 ms.
  const std::vector<Case> cases = {
      {"a", 10, 11, 9, 12}, {"a", 10, 8, 9, 12}, {"a", 10, 13, 11, 15}, {"a", 10, 6, 5, 7}};
  const Score score = score_of(cases, 2.5);
  EXPECT_NEAR(score.mre, 0.25, 1e-12);
  EXPECT_NEAR(score.median, 0.25, 1e-12);
  EXPECT_NEAR(score.p90, 0.37, 1e-12);
  EXPECT_NEAR(score.rmse_ms, std::sqrt(7.5), 1e-12);
  EXPECT_NEAR(score.coverage80, 0.5, 1e-12);
  EXPECT_EQ(score.cases, 4U);
  EXPECT_EQ(score.seconds, 2.5);
}

TEST(Score, FlaggedAreTheCasesOutsideTheDomainOfThoseThatCanTell) {
  const std::vector<Case> cases = {{"a", 10, 11, 9, 12, true}, {"a", 10, 8, 9, 12, false}, {"a", 10, 8, 9, 12}};
  EXPECT_NEAR(score_of(cases).flagged, 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(score_of(std::vector<Case>{{"a", 10, 11, 9, 12}}).flagged));
}

TEST(SuiteReport, SaysInEveryFormHowManyWereFlagged) {
  SuiteReport report{.suite = "test", .seed = 1};
  report.add(std::vector<Case>{{"a", 1, 1, 0, 2, false}, {"b", 1, 1, 0, 2, true}, {"c", 1, 1, 0, 2}}, 1);
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["groups"][0]["flagged"], 1);
  EXPECT_EQ(json["groups"][1]["flagged"], 0);
  EXPECT_TRUE(json["groups"][2]["flagged"].is_null());
  EXPECT_NE(to_markdown(report).find("learned: a 100.0 %, b 0.0 %."), std::string::npos) << to_markdown(report);
  EXPECT_NE(to_table(report).to_csv().find("flagged"), std::string::npos);
}

TEST(SuiteReport, JsonHasTheKeysOfEveryGroup) {
  SuiteReport report{.suite = "test", .seed = 3};
  const double nan = std::nan("");
  report.add(std::vector<Case>{{"b", 1, 1, nan, nan}, {"a", 2, 1, 0, 3}, {"b", 1, 2, nan, nan}}, 1);
  report.add_total(2);
  report.publish("a", 0.6, "someone");
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["suite"], "test");
  EXPECT_EQ(json["seed"], 3);
  ASSERT_EQ(json["groups"].size(), 3U);
  for (const char* key : {"mre", "rmse_ms", "median", "p90", "coverage80", "cases", "seconds"}) {
    for (const auto& group : json["groups"]) EXPECT_TRUE(group.contains(key)) << key;
  }
  EXPECT_EQ(json["groups"][0]["group"], "b");
  EXPECT_TRUE(json["groups"][0]["coverage80"].is_null());
  EXPECT_EQ(json["groups"][1]["published"], 0.6);
  EXPECT_EQ(json["groups"][2]["group"], "all");
  EXPECT_EQ(json["groups"][2]["cases"], 3);
  EXPECT_NE(to_markdown(report).find("| a | 1 | 50.0 % |"), std::string::npos);
  EXPECT_NE(to_svg(report).find("</svg>"), std::string::npos);
}

TEST(SuiteReport, FiguresOfTheSuitesOwnAreInEveryForm) {
  SuiteReport report{.suite = "test", .seed = 1};
  report.add(std::vector<Case>{{"a", 1, 1, 0, 2}, {"b", 1, 1, 0, 2}}, 1);
  report.rows[1].more = {{"nrmse_range", 0.0425}};
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["groups"][1]["nrmse_range"], 0.0425);
  EXPECT_FALSE(json["groups"][0].contains("nrmse_range"));
  const std::string markdown = to_markdown(report);
  EXPECT_NE(markdown.find("| published | nrmse_range |\n"), std::string::npos);
  EXPECT_NE(markdown.find("|  | 0.0425 |\n"), std::string::npos);
  EXPECT_NE(to_table(report).to_csv().find("0.0425"), std::string::npos);
}

}  // namespace
}  // namespace orrery::lab
