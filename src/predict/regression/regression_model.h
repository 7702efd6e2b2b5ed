#pragma once
// The best regression of a campaign, kept in a file to predict new runs (docs/formats/model.md, `orrery-regression`).
//
// 1. The campaign (campaign.h) chooses technique, hyper-parameters and columns; the choice is fitted on every row.
// 2. Rows with the same columns are one configuration. Configurations are drawn into five parts; for each the whole
//    campaign is run again without it, and its best regression predicts the part. The same is done with the values of
//    each column: all rows that have them are left out. Each gives an error and an interval (learn/conformal.h): how
//    far a regression is off where a configuration, or a value of that column, was never measured. Left-out
//    configurations alone would promise too much: tables of measurements have neighbours that differ in next to
//    nothing.
// 3. A run's interval is that of the columns in which the nearest configuration (the one that differs in the fewest)
//    differs from it, the widest of them; of equally near ones the one with the narrowest interval.
// 4. The file remembers between which values each column was measured. A run with any column outside of them, or with a
//    text never seen, is outside the domain.

#include "predict/predictor.h"
#include "predict/regression/campaign.h"
#include "predict/regression/run_facts.h"

namespace orrery::predict {

// What the target is the time of.
enum class TimeOf : std::uint8_t { kStep, kRun };

struct TableFacts {
  TimeOf time_of = TimeOf::kStep;
  double unit_s = 1;     // seconds of the target's unit
  std::string model{};   // that was measured; empty: nothing was said
  std::string device{};  // likewise
};
// "step_ms" is in milliseconds; nothing where the name does not say.
std::optional<double> unit_of_name(std::string_view target);

struct MeasuredColumn {
  std::string name;
  double least = 0, most = 0;         // of a numeric one
  std::vector<std::string> levels{};  // of a text
};

// What was learned by leaving values of a column out; without a column, whole configurations.
struct LeftOutColumn {
  std::string column;
  std::uint64_t rows = 0;
  double error = 0;          // mean relative error
  double low = 1, high = 1;  // four of five measured times lie between these multiples of the predicted
};

struct RegressionModel {
  TableFacts table{};
  std::string target, technique;
  std::vector<FeatureRecipe> features{};  // what the regression sees
  Regression regression{};
  std::vector<MeasuredColumn> columns{};  // what these are made of
  // Of each its columns, in their order: numbers, or places of texts among the levels. Sorted.
  std::vector<std::vector<double>> configurations{};
  std::uint64_t seed = 0, rows = 0;
  std::vector<LeftOutColumn> left_out{};  // whole configurations first, then columns that have several values

  double error() const { return left_out.front().error; }
  // The worst of them: of a run that is new in that column.
  const LeftOutColumn& worst() const;
};

// `progress(done, all)` counts campaigns.
using CampaignProgress = std::function<void(std::size_t done, std::size_t all)>;
Result<RegressionModel> fit_regression(const Campaign& campaign, const Prepared& data, const TableFacts& table,
                                       const CampaignProgress& progress = {});

std::string to_bytes(const RegressionModel& model);
// Any bytes give a model or an error.
Result<RegressionModel> parse_regression(std::string_view bytes);

// What a regression says of facts, in seconds, and which columns are outside what was measured.
struct RegressionAnswer {
  double seconds = 0;
  double low = 1, high = 1;            // multiples of it
  std::vector<std::string> differs{};  // columns in which the nearest configuration differs
  std::vector<std::string> outside{};  // for people: "batch is 512, measured were 8 to 64"
};
// Fails if a column has no fact, which it names, or if the regression has no answer there.
Result<RegressionAnswer> answer_of(const RegressionModel& model, const RunFacts& facts);

// Predicts runs by a regression; memory, cost and the parts of the time are the analytic predictor's, the latter
// scaled.
class RegressionPredictor final : public Predictor {
 public:
  // `given` are facts that Orrery does not know of a run, or knows differently.
  explicit RegressionPredictor(RegressionModel model, RunFacts given = {})
      : model_(std::move(model)), given_(std::move(given)) {}

  std::string_view name() const override { return "regression"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;

 private:
  RegressionModel model_;
  RunFacts given_;
};

}  // namespace orrery::predict
