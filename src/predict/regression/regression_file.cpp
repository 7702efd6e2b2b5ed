// The file of a RegressionModel.

#include <algorithm>
#include <cmath>

#include "predict/learn/sealed.h"
#include "predict/regression/regression_model.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kKind{"orrery-regression", 1, "regression", "orrery fit --form regression"};
constexpr std::size_t kTextMax = 4096, kListMax = 100'000;

void write_terms(const FeatureRecipe& recipe, ByteWriter& out) {
  out.u32(static_cast<std::uint32_t>(recipe.size()));
  for (const FeatureTerm& term : recipe) {
    out.text(term.column);
    out.u8(static_cast<std::uint8_t>(term.form));
    out.text(term.level);
  }
}

Result<FeatureRecipe> read_terms(ByteReader& in) {
  ORRERY_TRY(const std::size_t count, in.count(9, kListMax));
  FeatureRecipe recipe(count);
  for (FeatureTerm& term : recipe) {
    ORRERY_TRY(term.column, in.text(kTextMax));
    ORRERY_TRY(const std::uint8_t form, in.u8());
    if (form > static_cast<std::uint8_t>(TermForm::kLevel)) return Error::invalid("an unknown form of a column");
    term.form = static_cast<TermForm>(form);
    ORRERY_TRY(term.level, in.text(kTextMax));
  }
  return recipe;
}

Result<double> read_finite(ByteReader& in) {
  ORRERY_TRY(const double value, in.f64());
  if (!std::isfinite(value)) return Error::invalid("a number is not finite");
  return value;
}

void write_regression(const Regression& regression, ByteWriter& out) {
  out.text(regression.formula);
  out.f64(regression.linear.intercept);
  out.u32(static_cast<std::uint32_t>(regression.linear.coefficients.size()));
  for (const double one : regression.linear.coefficients) out.f64(one);
  out.u32(static_cast<std::uint32_t>(regression.trees.size()));
  for (const BoostedTrees& one : regression.trees) one.write(out);
}

Result<Regression> read_regression(ByteReader& in, std::size_t features) {
  Regression regression;
  ORRERY_TRY(regression.formula, in.text(1 << 20));
  ORRERY_TRY(regression.linear.intercept, read_finite(in));
  ORRERY_TRY(const std::size_t coefficients, in.count(8, kListMax));
  for (std::size_t i = 0; i < coefficients; ++i) {
    ORRERY_TRY(regression.linear.coefficients.emplace_back(), read_finite(in));
  }
  ORRERY_TRY(const std::size_t trees, in.count(1, kListMax));
  for (std::size_t i = 0; i < trees; ++i) {
    ORRERY_TRY(regression.trees.emplace_back(), BoostedTrees::read(in));
    if (regression.trees.back().columns() != features) return Error::invalid("trees of other columns");
  }
  if (trees == 0 && coefficients != features) return Error::invalid("not as many coefficients as features");
  return regression;
}

Result<LeftOutColumn> read_left_out(ByteReader& in) {
  LeftOutColumn one;
  ORRERY_TRY(one.column, in.text(kTextMax));
  ORRERY_TRY(one.rows, in.u64());
  for (double* number : {&one.error, &one.low, &one.high}) {
    ORRERY_TRY(*number, read_finite(in));
  }
  if (!(one.error >= 0 && one.low > 0 && one.low <= one.high)) return Error::invalid("an interval is damaged");
  return one;
}

Result<MeasuredColumn> read_column(ByteReader& in) {
  MeasuredColumn column;
  ORRERY_TRY(column.name, in.text(kTextMax));
  ORRERY_TRY(column.least, read_finite(in));
  ORRERY_TRY(column.most, read_finite(in));
  ORRERY_TRY(const std::size_t levels, in.count(4, kListMax));
  for (std::size_t i = 0; i < levels; ++i) {
    ORRERY_TRY(column.levels.emplace_back(), in.text(kTextMax));
  }
  return column;
}

// Every term is of a column of the list, a text or a number as the list says.
Status check_terms(const RegressionModel& model) {
  for (const FeatureRecipe& recipe : model.features) {
    for (const FeatureTerm& term : recipe) {
      bool is_listed = false;
      for (const MeasuredColumn& column : model.columns) {
        is_listed =
            is_listed || (column.name == term.column && column.levels.empty() == (term.form != TermForm::kLevel));
      }
      if (!is_listed) return Error::invalid("a feature of a column that is not listed");
    }
  }
  return {};
}

}  // namespace

std::string to_bytes(const RegressionModel& model) {
  ByteWriter body;
  body.u8(static_cast<std::uint8_t>(model.table.time_of));
  body.f64(model.table.unit_s);
  for (const std::string* text : {&model.table.model, &model.table.device, &model.target, &model.technique}) {
    body.text(*text);
  }
  for (const std::uint64_t number : {model.seed, model.rows}) body.u64(number);
  body.u32(static_cast<std::uint32_t>(model.left_out.size()));
  for (const LeftOutColumn& one : model.left_out) {
    body.text(one.column);
    body.u64(one.rows);
    for (const double number : {one.error, one.low, one.high}) body.f64(number);
  }
  body.u32(static_cast<std::uint32_t>(model.features.size()));
  for (const FeatureRecipe& recipe : model.features) write_terms(recipe, body);
  body.u32(static_cast<std::uint32_t>(model.columns.size()));
  for (const MeasuredColumn& column : model.columns) {
    body.text(column.name);
    body.f64(column.least);
    body.f64(column.most);
    body.u32(static_cast<std::uint32_t>(column.levels.size()));
    for (const std::string& level : column.levels) body.text(level);
  }
  body.u32(static_cast<std::uint32_t>(model.configurations.size()));
  for (const std::vector<double>& configuration : model.configurations) {
    for (const double value : configuration) body.f64(value);
  }
  write_regression(model.regression, body);
  return seal(kKind, body.bytes());
}

Result<RegressionModel> parse_regression(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kKind, bytes));
  ByteReader in(body);
  RegressionModel model;
  ORRERY_TRY(const std::uint8_t time_of, in.u8());
  if (time_of > static_cast<std::uint8_t>(TimeOf::kRun)) return Error::invalid("an unknown kind of time");
  model.table.time_of = static_cast<TimeOf>(time_of);
  ORRERY_TRY(model.table.unit_s, read_finite(in));
  if (!(model.table.unit_s > 0)) return Error::invalid("a unit that is not above 0");
  for (std::string* text : {&model.table.model, &model.table.device, &model.target, &model.technique}) {
    ORRERY_TRY(*text, in.text(kTextMax));
  }
  for (std::uint64_t* number : {&model.seed, &model.rows}) {
    ORRERY_TRY(*number, in.u64());
  }
  ORRERY_TRY(const std::size_t left_out, in.count(36, kListMax));
  for (std::size_t i = 0; i < left_out; ++i) {
    ORRERY_TRY(model.left_out.emplace_back(), read_left_out(in));
  }
  if (model.left_out.empty() || !model.left_out.front().column.empty()) {
    return Error::invalid("no error of configurations left out");
  }
  ORRERY_TRY(const std::size_t features, in.count(4, kListMax));
  for (std::size_t i = 0; i < features; ++i) {
    ORRERY_TRY(model.features.emplace_back(), read_terms(in));
  }
  ORRERY_TRY(const std::size_t columns, in.count(24, kListMax));
  for (std::size_t i = 0; i < columns; ++i) {
    ORRERY_TRY(model.columns.emplace_back(), read_column(in));
  }
  ORRERY_TRY_VOID(check_terms(model));
  ORRERY_TRY(const std::size_t configurations, in.count(8 * std::max<std::size_t>(1, columns), kListMax));
  for (std::size_t i = 0; i < configurations; ++i) {
    std::vector<double>& configuration = model.configurations.emplace_back();
    for (std::size_t column = 0; column < columns; ++column) {
      ORRERY_TRY(configuration.emplace_back(), read_finite(in));
    }
  }
  ORRERY_TRY(model.regression, read_regression(in, features));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  return model;
}

}  // namespace orrery::predict
