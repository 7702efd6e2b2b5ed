#include "predict/regression/regression_model.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "predict/analytic/analytic.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

// step_ms = 4 + 3 · batch / gpus, 10 % more of Adam.
double law(double batch, double gpus, bool is_adam) {
  return (4 + 3 * batch / gpus) * (is_adam ? 1.1 : 1);
}

CsvTable table_of(double noise, std::uint64_t seed) {
  Random random(seed);
  std::string csv = "batch,gpus,optimizer,step_ms\n";
  for (const int batch : {4, 8, 16, 24, 32, 48, 64}) {
    for (const int gpus : {1, 2, 4}) {
      for (const bool is_adam : {false, true}) {
        csv += fmt::format("{},{},{},{}\n", batch, gpus, is_adam ? "adam" : "momentum",
                           law(batch, gpus, is_adam) * std::exp(noise * random.normal()));
      }
    }
  }
  return parse_csv(csv).value();
}

Campaign campaign_of(const std::string& techniques) {
  return parse_campaign("[General]\ntechniques = " + techniques +
                        "\ny = step_ms\nhp_selection = KFold\nfolds = 3\nvalidation = KFold\nseed = 3\n"
                        "[DataPreparation]\ninput_path = t.csv\ninverse = ['gpus']\nproduct_max_degree = 3\n")
      .value();
}

RegressionModel fitted(const std::string& techniques, double noise, const TableFacts& facts) {
  const Campaign campaign = campaign_of(techniques);
  return fit_regression(campaign, prepare(table_of(noise, 1), campaign).value(), facts).value();
}

const TableFacts kMilliseconds{.unit_s = 1e-3};

workload::TrainingRun run_of(std::int64_t batch, int gpus) {
  workload::TrainingRun run{.graph = workload::build_model("lenet").value().with_batch(batch).value()};
  run.parallelism.data = gpus;
  run.steps = 50;
  return run;
}

hardware::Placement on(int gpus) {
  return hardware::make_placement("V100", gpus, gpus).value();
}

TEST(RegressionModel, PredictsRunsFromTheFactsThatItsColumnsName) {
  for (const char* techniques : {"['NNLS']", "['LRRidge', 'RandomForest']"}) {
    const RegressionPredictor predictor(fitted(techniques, 0, kMilliseconds));
    const Prediction prediction = predictor.predict(run_of(10, 2), on(2)).value();
    EXPECT_NEAR(prediction.iteration.value.value() / (1e-3 * law(20, 2, false)), 1, 0.15) << techniques;
    EXPECT_TRUE(prediction.in_domain && prediction.calibrated);
    EXPECT_NEAR(prediction.total_time.value / prediction.iteration.value, 50, 1e-9);
    EXPECT_LE(prediction.iteration.low, prediction.iteration.value * (1 + 1e-9));
    EXPECT_GE(prediction.iteration.high, prediction.iteration.value * (1 - 1e-9));
  }
}

TEST(RegressionModel, OutsideWhatWasMeasuredItIsNoSurerThanFormulas) {
  const RegressionPredictor predictor(fitted("['NNLS']", 0, {.unit_s = 1e-3, .model = "lenet"}));
  const Prediction large = predictor.predict(run_of(512, 1), on(1)).value();
  EXPECT_FALSE(large.in_domain || large.calibrated);
  EXPECT_LE(large.iteration.low / large.iteration.value, kFormulaLow + 1e-9);
  EXPECT_GE(large.iteration.high / large.iteration.value, kFormulaHigh - 1e-9);
  workload::TrainingRun other = run_of(8, 1);
  other.optimizer = workload::Optimizer::kSgd;
  EXPECT_FALSE(predictor.predict(other, on(1)).value().in_domain) << "sgd was not measured";
  workload::TrainingRun model{.graph = workload::build_model("alexnet").value().with_batch(8).value()};
  EXPECT_FALSE(predictor.predict(model, on(1)).value().in_domain) << "the table is of lenet";
}

TEST(RegressionModel, ATotalTimeIsDividedByTheSteps) {
  const RegressionPredictor predictor(fitted("['NNLS']", 0, {.time_of = TimeOf::kRun, .unit_s = 1}));
  const Prediction prediction = predictor.predict(run_of(8, 1), on(1)).value();
  EXPECT_NEAR(prediction.total_time.value.value(), law(8, 1, false), 1);
  EXPECT_NEAR(prediction.iteration.value.value(), law(8, 1, false) / 50, 0.02);
}

TEST(RegressionModel, NamesTheColumnsItCannotSupply) {
  const Campaign campaign =
      parse_campaign("[General]\ntechniques = ['NNLS']\ny = t_s\n[DataPreparation]\ninput_path = t.csv\n").value();
  std::string csv = "batch,disk,t_s\n";
  for (int i = 1; i <= 20; ++i) csv += fmt::format("{},{},{}\n", i, i % 4, 1 + i + 5 * (i % 4));
  const RegressionModel model = fit_regression(campaign, prepare(parse_csv(csv).value(), campaign).value(), {}).value();
  const Prediction given = RegressionPredictor(model, {{"disk", 2.0}}).predict(run_of(8, 1), on(1)).value();
  EXPECT_NEAR(given.iteration.value.value(), 19, 1);
  const std::string error = RegressionPredictor(model).predict(run_of(8, 1), on(1)).error().message();
  EXPECT_NE(error.find("does not know of a run: \"disk\"; give them (--fact disk=3)"), std::string::npos) << error;
  EXPECT_EQ(RegressionPredictor(model, {{"disk", std::string("ssd")}}).predict(run_of(8, 1), on(1)).error().message(),
            "the column \"disk\" is a number, not \"ssd\"");
}

// The interval comes from rows left out, so that it holds of fresh rows what it promises.
TEST(RegressionModel, TheIntervalHoldsFourOfFiveFreshRows) {
  const RegressionModel model = fitted("['NNLS', 'LRRidge', 'RandomForest']", 0.1, kMilliseconds);
  Random random(9);
  int inside = 0, all = 0;
  for (int i = 0; i < 200; ++i) {
    const double batch = static_cast<double>(4 + random.below(60)),
                 gpus = std::pow(2, static_cast<double>(random.below(3)));
    const bool is_adam = random.below(2) == 0;
    const RunFacts facts = {
        {"batch", batch}, {"gpus", gpus}, {"optimizer", std::string(is_adam ? "adam" : "momentum")}};
    const RegressionAnswer answer = answer_of(model, facts).value();
    const double measured = 1e-3 * law(batch, gpus, is_adam) * std::exp(0.1 * random.normal());
    const double ratio = measured / answer.seconds;
    inside += answer.low <= ratio && ratio <= answer.high ? 1 : 0;
    ++all;
  }
  EXPECT_GE(inside, 0.72 * all);
  EXPECT_LE(inside, 0.95 * all);
}

TEST(RegressionModel, TheFileSaysTheSame) {
  for (const char* techniques : {"['NNLS']", "['RandomForest']"}) {
    const RegressionModel model = fitted(techniques, 0.05, kMilliseconds);
    const std::string bytes = to_bytes(model);
    const RegressionModel again = parse_regression(bytes).value();
    EXPECT_EQ(to_bytes(again), bytes);
    const RunFacts facts = {{"batch", 20.0}, {"gpus", 2.0}, {"optimizer", std::string("adam")}};
    EXPECT_EQ(answer_of(again, facts)->seconds, answer_of(model, facts)->seconds);
    for (std::size_t size = 0; size < bytes.size(); size += 13) EXPECT_FALSE(parse_regression(bytes.substr(0, size)));
  }
}

TEST(RegressionModel, SaysWhatIsWrong) {
  const Campaign campaign = campaign_of("['NNLS']");
  EXPECT_EQ(fit_regression(
                campaign, prepare(parse_csv("batch,gpus,step_ms\n1,1,1\n2,1,2\n3,1,3\n").value(), campaign).value(), {})
                .error()
                .message(),
            "3 different configurations; 10 are needed to measure errors on some left out");
  EXPECT_EQ(unit_of_name("step_ms"), 1e-3);
  EXPECT_EQ(unit_of_name("time_s"), 1.0);
  EXPECT_FALSE(unit_of_name("time"));
  EXPECT_FALSE(parse_facts({"a"}));
  EXPECT_FALSE(parse_facts({"a=1", "a=2"}));
}

// Every feature of a campaign is what its recipe makes of the columns.
RC_GTEST_PROP(RegressionModel, RecipesMakeTheFeatures, ()) {
  const int degree = *rc::gen::inRange(1, 4);
  Campaign campaign = campaign_of("['NNLS']");
  campaign.product_degree = degree;
  campaign.log = {"batch"};
  campaign.interactions_only = *rc::gen::arbitrary<bool>();
  const CsvTable table = table_of(0.1, static_cast<std::uint64_t>(degree));
  const Prepared data = prepare(table, campaign).value();
  RC_ASSERT(data.recipes.size() == data.features.columns());
  const std::size_t row = *rc::gen::inRange<std::size_t>(0, table.rows.size());
  for (std::size_t feature = 0; feature < data.recipes.size(); ++feature) {
    double product = 1;
    for (const FeatureTerm& term : data.recipes[feature]) {
      const std::string& text = table.rows[row].fields[table.column(term.column).value()];
      if (term.form == TermForm::kLevel) {
        product *= text == term.level ? 1 : 0;
      } else {
        const double value = std::stod(text);
        product *= term.form == TermForm::kInverse ? 1 / value : term.form == TermForm::kLog ? std::log(value) : value;
      }
    }
    RC_ASSERT(std::abs(product - data.features.column(feature)[row]) <= 1e-9 * (1 + std::abs(product)));
  }
}

TEST(RunFacts, HaveOneValueForEveryName) {
  const RunFacts facts = run_facts(run_of(8, 2), on(2));
  EXPECT_EQ(facts.size(), fact_names().size());
  for (const FactName& fact : fact_names()) EXPECT_TRUE(facts.contains(fact.name)) << fact.name;
  EXPECT_EQ(std::get<double>(facts.at("batch")), 16);
  EXPECT_EQ(std::get<double>(facts.at("parameters")), 61706);
  EXPECT_EQ(std::get<std::string>(facts.at("device")), "V100");
}

}  // namespace
}  // namespace orrery::predict
