#include "predict/regression/campaign.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <set>

#include "base/random.h"
#include "predict/learn/boosted_trees.h"

namespace orrery::predict {

namespace {

using RowList = std::vector<std::size_t>;

struct Split {
  RowList training, judged;
};

RowList shuffled(RowList rows, Random& random) {
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  return rows;
}

Result<std::vector<Split>> fold_splits(const RowList& rows, int folds, Random& random) {
  if (rows.size() < static_cast<std::size_t>(folds)) {
    return Error::invalid(fmt::format("folds: {} of {} rows", folds, rows.size()));
  }
  const RowList mixed = shuffled(rows, random);
  const std::size_t size = rows.size() / static_cast<std::size_t>(folds);
  std::vector<Split> splits(static_cast<std::size_t>(folds));
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const std::size_t own = std::min(i / size, splits.size() - 1);
    for (std::size_t fold = 0; fold < splits.size(); ++fold) {
      (fold == own ? splits[fold].judged : splits[fold].training).push_back(mixed[i]);
    }
  }
  return splits;
}

Split hold_out(const RowList& rows, double ratio, Random& random) {
  const RowList mixed = shuffled(rows, random);
  const auto held = static_cast<std::ptrdiff_t>(std::floor(static_cast<double>(rows.size()) * ratio));
  return {RowList(mixed.begin() + held, mixed.end()), RowList(mixed.begin(), mixed.begin() + held)};
}

Result<std::span<const double>> raw_column(const Design& raw, const std::string& name, std::string_view key) {
  const auto found = std::find(raw.names().begin(), raw.names().end(), name);
  if (found == raw.names().end())
    return Error::invalid(fmt::format("{}: there is no numeric column \"{}\"", key, name));
  return raw.column(static_cast<std::size_t>(found - raw.names().begin()));
}

Result<Split> extrapolation_split(const Campaign& campaign, const Design& raw) {
  std::set<std::size_t> above;
  for (const auto& [name, bound] : campaign.extrapolation) {
    ORRERY_TRY(const auto values, raw_column(raw, name, "extrapolation_columns"));
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (values[row] > bound) above.insert(row);
    }
  }
  Split split;
  for (std::size_t row = 0; row < raw.rows(); ++row) {
    (above.contains(row) ? split.judged : split.training).push_back(row);
  }
  return split;
}

// The values of a column that are kept for validation.
std::set<double> kept_values(std::span<const double> column, const InterpolationRule& rule) {
  if (const auto* list = std::get_if<std::vector<double>>(&rule)) return {list->begin(), list->end()};
  const std::set<double> sorted(column.begin(), column.end());
  std::set<double> kept;
  const auto step = static_cast<std::size_t>(std::get<double>(rule));
  std::size_t place = 0;
  for (const double value : sorted) {
    if (place++ % step == 0) kept.insert(value);
  }
  return kept;
}

Result<Split> interpolation_split(const Campaign& campaign, const Design& raw) {
  std::set<std::size_t> kept_rows;
  for (const auto& [name, rule] : campaign.interpolation) {
    ORRERY_TRY(const auto values, raw_column(raw, name, "interpolation_columns"));
    const std::set<double> kept = kept_values(values, rule);
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (kept.contains(values[row])) kept_rows.insert(row);
    }
  }
  Split split;
  for (std::size_t row = 0; row < raw.rows(); ++row) {
    (kept_rows.contains(row) ? split.judged : split.training).push_back(row);
  }
  return split;
}

Result<std::vector<Split>> splits_of(Validation how, const Campaign& campaign, const Design& raw, const RowList& rows,
                                     Random& random) {
  std::vector<Split> splits;
  switch (how) {
    case Validation::kAll:
      splits = {{rows, rows}};
      break;
    case Validation::kHoldOut:
      splits = {hold_out(rows, campaign.hold_out_ratio, random)};
      break;
    case Validation::kKFold:
      return fold_splits(rows, campaign.folds, random);
    case Validation::kExtrapolation: {
      ORRERY_TRY(splits.emplace_back(), extrapolation_split(campaign, raw));
      break;
    }
    case Validation::kInterpolation: {
      ORRERY_TRY(splits.emplace_back(), interpolation_split(campaign, raw));
      break;
    }
  }
  if (splits[0].judged.empty()) return Error::invalid("no row is left to judge by");
  if (splits[0].training.empty()) return Error::invalid("no row is left to learn from");
  return splits;
}

std::vector<double> values_at(const std::vector<double>& values, const RowList& rows) {
  std::vector<double> some;
  for (const std::size_t row : rows) some.push_back(values[row]);
  return some;
}

std::vector<Hyperparameters> grid_of(const TechniqueGrid& grid) {
  std::vector<Hyperparameters> points = {{}};
  for (const auto& [key, values] : grid.values) {
    std::vector<Hyperparameters> more;
    for (const Hyperparameters& point : points) {
      for (const double value : values) {
        more.push_back(point);
        more.back()[key] = value;
      }
    }
    points = std::move(more);
  }
  return points;
}

// A technique with all its choices made.
struct Choice {
  std::string technique;
  Hyperparameters values;
  std::vector<std::size_t> columns;
};

class Trial {
 public:
  Trial(const Campaign& campaign, const Prepared& data, std::uint64_t seed)
      : campaign_(campaign), data_(data), seed_(seed) {}

  Result<Regression> fit(const Choice& choice, const RowList& rows) const {
    return fit_technique(choice.technique, choice.values, data_.features.columns_at(choice.columns).rows_at(rows),
                         values_at(data_.targets, rows), campaign_.normalise, seed_);
  }
  std::vector<double> predict(const Regression& regression, const Choice& choice, const RowList& rows) const {
    const Design design = data_.features.columns_at(choice.columns).rows_at(rows);
    std::vector<double> predicted;
    for (std::size_t i = 0; i < rows.size(); ++i) predicted.push_back(regression.predict(design, i));
    return predicted;
  }
  // Mean over splits; infinite where it cannot be fitted.
  double error(const Choice& choice, const std::vector<Split>& splits) const {
    double sum = 0;
    for (const Split& split : splits) {
      const auto regression = fit(choice, split.training);
      if (!regression) return std::numeric_limits<double>::infinity();
      sum += mean_percentage_error(predict(*regression, choice, split.judged), values_at(data_.targets, split.judged));
    }
    return sum / static_cast<double>(splits.size());
  }

  // Forward selection: the column that helps most is added while there is space; the best size wins.
  std::vector<std::size_t> forward_columns(Choice choice, const std::vector<Split>& splits) const {
    const std::size_t all = data_.features.columns();
    const std::size_t most = campaign_.features_max > 0 ? std::min<std::size_t>(all, campaign_.features_max) : all;
    std::vector<std::size_t> best_columns;
    double best_error = std::numeric_limits<double>::infinity();
    choice.columns.clear();
    while (choice.columns.size() < most) {
      double step_error = std::numeric_limits<double>::infinity();
      std::size_t step_column = all;
      for (std::size_t column = 0; column < all; ++column) {
        if (std::find(choice.columns.begin(), choice.columns.end(), column) != choice.columns.end()) continue;
        Choice longer = choice;
        longer.columns.push_back(column);
        const double error_now = error(longer, splits);
        if (error_now < step_error) {
          step_error = error_now;
          step_column = column;
        }
      }
      if (step_column == all) break;
      choice.columns.push_back(step_column);
      if (choice.columns.size() >= static_cast<std::size_t>(campaign_.features_min) && step_error < best_error) {
        best_error = step_error;
        best_columns = choice.columns;
      }
    }
    return best_columns.empty() ? choice.columns : best_columns;
  }

 private:
  const Campaign& campaign_;
  const Prepared& data_;
  std::uint64_t seed_;
};

// 0, 1, … count − 1.
std::vector<std::size_t> first_numbers(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

// Columns by how often small boosted trees split on them, the most used first, until `boosted_share` of all splits.
Result<std::vector<std::size_t>> boosted_columns(const Campaign& campaign, const Prepared& data, const RowList& rows) {
  BoostOptions options{.trees = 100, .leaves = 8, .min_rows = 2, .row_share = 1, .column_share = 1};
  options.threads = 1;
  ORRERY_TRY(const BoostedTrees trees,
             BoostedTrees::fit(features_of(data.features, rows), values_at(data.targets, rows), {}, options));
  const std::vector<std::size_t> splits = trees.splits_by_column();
  std::vector<std::size_t> order = first_numbers(data.features.columns());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return splits[a] > splits[b]; });
  std::size_t all = 0;
  for (const std::size_t count : splits) all += count;
  std::vector<std::size_t> chosen;
  double share = 0;
  for (const std::size_t column : order) {
    if (share >= campaign.boosted_share || splits[column] == 0) break;
    if (campaign.features_max > 0 && chosen.size() >= static_cast<std::size_t>(campaign.features_max)) break;
    chosen.push_back(column);
    share += static_cast<double>(splits[column]) / static_cast<double>(all);
  }
  return chosen.empty() ? first_numbers(data.features.columns()) : chosen;
}

// Chooses hyper-parameters and columns of one technique on training rows; the error it had there.
Result<std::pair<Choice, double>> choose(const Campaign& campaign, const Prepared& data, const TechniqueGrid& grid,
                                         const RowList& training, const Trial& trial, Random random) {
  ORRERY_TRY(const std::vector<Split> splits, splits_of(campaign.hp_selection, campaign, data.raw, training, random));
  std::vector<std::size_t> columns = first_numbers(data.features.columns());
  if (campaign.selection == Selection::kBoosted) {
    ORRERY_TRY(columns, boosted_columns(campaign, data, training));
  }
  std::vector<Split> selection_splits;
  if (campaign.selection == Selection::kForward) {
    ORRERY_TRY(selection_splits, fold_splits(training, campaign.selection_folds, random));
  }
  Choice best;
  double best_error = std::numeric_limits<double>::infinity();
  for (const Hyperparameters& values : grid_of(grid)) {
    Choice choice{grid.name, values, columns};
    if (!selection_splits.empty()) choice.columns = trial.forward_columns(choice, selection_splits);
    const double error = trial.error(choice, splits);
    if (error < best_error || best.technique.empty()) {
      best = std::move(choice);
      best_error = error;
    }
  }
  if (!std::isfinite(best_error)) {
    const auto why = trial.fit(best, splits.front().training);
    return why ? Error::invalid(grid.name + ": its errors are not finite") : Error(why.error()).with_context(grid.name);
  }
  return std::pair(std::move(best), best_error);
}

}  // namespace

Result<CampaignResult> run_campaign(const Campaign& campaign, const Prepared& data,
                                    const std::function<void(std::size_t, std::size_t)>& progress) {
  CampaignResult result{.techniques = {}, .rows = data.targets.size(), .features = data.features.columns()};
  const RowList everything = first_numbers(data.targets.size());
  for (const TechniqueGrid& grid : campaign.techniques) result.techniques.push_back({.technique = grid.name});
  std::size_t done = 0;
  std::size_t judged = 0;
  for (int run = 0; run < campaign.runs; ++run) {
    const Random random = Random(campaign.seed).split(static_cast<std::uint64_t>(run));
    Random outer = random.split("validation");
    ORRERY_TRY(const std::vector<Split> splits, splits_of(campaign.validation, campaign, data.raw, everything, outer));
    const Trial trial(campaign, data, random.seed());
    for (const Split& split : splits) {
      ++judged;
      for (std::size_t i = 0; i < campaign.techniques.size(); ++i) {
        TechniqueResult& now = result.techniques[i];
        ORRERY_TRY(const auto chosen, choose(campaign, data, campaign.techniques[i], split.training, trial,
                                             random.split("selection").split(judged)));
        const Choice& choice = chosen.first;
        ORRERY_TRY(const Regression regression, trial.fit(choice, split.training));
        const std::vector<double> predicted = trial.predict(regression, choice, split.judged);
        const std::vector<double> targets = values_at(data.targets, split.judged);
        double squares = 0;
        for (std::size_t row = 0; row < targets.size(); ++row) squares += std::pow(predicted[row] - targets[row], 2);
        now.hyperparameters = choice.values;
        now.columns.clear();
        for (const std::size_t column : choice.columns) now.columns.push_back(data.features.names()[column]);
        now.selection_error += chosen.second;
        now.validation_error += mean_percentage_error(predicted, targets);
        now.validation_rmse += std::sqrt(squares / static_cast<double>(targets.size()));
        now.validation_rows = targets.size();
        ORRERY_TRY(const Regression whole, trial.fit(choice, everything));
        now.formula = whole.formula;
        ++done;
        if (progress)
          progress(done, static_cast<std::size_t>(campaign.runs) * splits.size() * campaign.techniques.size());
      }
    }
  }
  for (TechniqueResult& one : result.techniques) {
    one.selection_error /= static_cast<double>(judged);
    one.validation_error /= static_cast<double>(judged);
    one.validation_rmse /= static_cast<double>(judged);
  }
  std::stable_sort(result.techniques.begin(), result.techniques.end(),
                   [](const auto& a, const auto& b) { return a.selection_error < b.selection_error; });
  return result;
}

}  // namespace orrery::predict
