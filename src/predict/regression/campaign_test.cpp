#include "predict/regression/campaign.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "predict/regression/python_literal.h"

namespace orrery::predict {
namespace {

constexpr std::string_view kCampaign = R"([General]
techniques = ['LRRidge', 'NNLS', 'Relative', 'Stepwise', 'DecisionTree', 'RandomForest', 'XGBoost']
y = time
hp_selection = KFold
folds = 3
validation = HoldOut
hold_out_ratio = 0.25
seed = 7
[DataPreparation]
input_path = rows.csv
inverse = ['machines']
[LRRidge]
alpha = [0.001, 1]
[XGBoost]
n_estimators = [50]
)";

std::string with(std::string_view from, std::string_view to) {
  std::string text(kCampaign);
  const std::size_t place = text.find(from);
  return text.replace(place, from.size(), to);
}

std::string error_of(const std::string& text) {
  const auto campaign = parse_campaign(text);
  return campaign ? "" : campaign.error().message();
}

// time = 2 + 30 · batch / machines + 4 · machines, and a text column that does not matter.
CsvTable rows() {
  Random random(5);
  CsvTable table{{"batch", "machines", "site", "time"}, {}};
  for (int i = 0; i < 120; ++i) {
    const double batch = static_cast<double>(1 + random.below(16)), machines = static_cast<double>(1 + random.below(8));
    const double time = (2 + 30 * batch / machines + 4 * machines) * std::exp(0.01 * random.normal());
    table.rows.push_back(
        {static_cast<std::size_t>(i) + 2,
         {std::to_string(batch), std::to_string(machines), i % 2 == 0 ? "here" : "there", std::to_string(time)}});
  }
  return table;
}

CampaignResult run(const std::string& text) {
  const Campaign campaign = parse_campaign(text).value();
  return run_campaign(campaign, prepare(rows(), campaign).value()).value();
}

const TechniqueResult& of(const CampaignResult& result, std::string_view technique) {
  for (const TechniqueResult& one : result.techniques) {
    if (one.technique == technique) return one;
  }
  throw std::runtime_error("not there");
}

TEST(Campaign, ProductsLetALinearModelFindTheLaw) {
  const CampaignResult result =
      run(with("inverse = ['machines']", "inverse = ['machines']\nproduct_max_degree = 2\nskip_columns = ['site']"));
  EXPECT_LT(of(result, "NNLS").validation_error, 0.03);
  EXPECT_LT(of(result, "Relative").validation_error, 0.02);
  EXPECT_LT(of(result, "Stepwise").validation_error, 0.03);
  EXPECT_LT(of(result, "LRRidge").validation_error, 0.03);
  EXPECT_GT(of(result, "DecisionTree").validation_error, of(result, "Relative").validation_error);
  EXPECT_EQ(result.techniques.front().validation_rows, 30U);
}

TEST(Campaign, ForwardSelectionKeepsTheColumnsThatMatter) {
  const Campaign campaign = parse_campaign(with("techniques = ['LRRidge', 'NNLS', 'Relative', 'Stepwise', "
                                                "'DecisionTree', 'RandomForest', 'XGBoost']",
                                                "techniques = ['Relative']")
                                               .append("[FeatureSelection]\nmethod = SFS\nmax_features = 2\n"))
                                .value();
  Campaign deeper = campaign;
  deeper.product_degree = 2;
  const CampaignResult result = run_campaign(deeper, prepare(rows(), deeper).value()).value();
  const std::vector<std::string>& columns = result.techniques.front().columns;
  EXPECT_NE(std::find(columns.begin(), columns.end(), "batch__inverse_machines"), columns.end());
}

TEST(Campaign, ExtrapolationJudgesOnlyWhatIsBeyondTheBound) {
  const CampaignResult result = run(with("validation = HoldOut",
                                         "validation = Extrapolation\n"
                                         "extrapolation_columns = {'machines': 6}"));
  std::size_t beyond = 0;
  for (const CsvRow& row : rows().rows) beyond += std::stod(row.fields[1]) > 6 ? 1 : 0;
  EXPECT_EQ(result.techniques.front().validation_rows, beyond);
}

TEST(Campaign, TheSameSeedGivesTheSameAnswer) {
  const std::string text(kCampaign);
  EXPECT_EQ(run(text).techniques.front().validation_error, run(text).techniques.front().validation_error);
}

TEST(Campaign, PreparationNamesColumnsAndLines) {
  Campaign campaign = parse_campaign(kCampaign).value();
  EXPECT_EQ(prepare(rows(), campaign).value().features.names(),
            (std::vector<std::string>{"batch", "machines", "site_class_here", "site_class_there", "inverse_machines"}));
  campaign.target = "tme";
  EXPECT_NE(prepare(rows(), campaign).error().message().find("did you mean \"time\""), std::string::npos);
  campaign = parse_campaign(kCampaign).value();
  CsvTable zero = rows();
  zero.rows[3].fields[1] = "0";
  EXPECT_EQ(prepare(zero, campaign).error().message(), "line 5: \"machines\" is 0, which has no inverse_");
}

TEST(Campaign, ErrorsNameTheKey) {
  EXPECT_EQ(error_of(std::string(kCampaign)), "");
  EXPECT_NE(error_of(with("hold_out_ratio = 0.25", "hold_out_ration = 0.25")).find("did you mean \"hold_out_ratio\""),
            std::string::npos);
  EXPECT_NE(error_of(with("[LRRidge]", "[LRRige]")).find("unknown section"), std::string::npos);
  EXPECT_NE(error_of(with("folds = 3", "folds = 1")).find("folds: expected a whole number from 2 on"),
            std::string::npos);
  EXPECT_NE(error_of(with("validation = HoldOut", "validation = Extrapolation")).find("extrapolation_columns"),
            std::string::npos);
  EXPECT_NE(error_of(with("y = time", "")).find("y: which column"), std::string::npos);
  EXPECT_EQ(error_of("x"), "line 1: expected `[Section]` or `key = value`");
}

TEST(Campaign, MoreFoldsThanRowsIsAnError) {
  Campaign campaign = parse_campaign(kCampaign).value();
  campaign.folds = 500;
  EXPECT_NE(run_campaign(campaign, prepare(rows(), campaign).value()).error().message().find("folds: 500"),
            std::string::npos);
}

TEST(PythonLiteral, ReadsWhatPythonWrites) {
  EXPECT_EQ(parse_python_literal(R"([1, -2.5e3, 'a\'b', "c", True, None, (1,), {'k': [2]}])").value().dump(),
            R"([1.0,-2500.0,"a'b","c",true,null,[1.0],{"k":[2.0]}])");
  EXPECT_FALSE(parse_python_literal("[*]").has_value());
  EXPECT_FALSE(parse_python_literal("inf x").has_value());
  EXPECT_FALSE(parse_python_literal(std::string(1000, '[')).has_value());
}

RC_GTEST_PROP(PythonLiteral, AnyTextIsAValueOrAnError, (const std::string& text)) {
  const auto value = parse_python_literal(text);
  RC_ASSERT(value.has_value() || !value.error().message().empty());
}

RC_GTEST_PROP(Campaign, AnyTextIsACampaignOrAnError, (const std::string& text)) {
  const auto campaign = parse_campaign("[General]\n" + text);
  RC_ASSERT(campaign.has_value() || !campaign.error().message().empty());
}

}  // namespace
}  // namespace orrery::predict
