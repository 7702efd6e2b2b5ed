#include "predict/regression/stepwise.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/statistics.h"

namespace orrery::predict {

namespace {

bool is_constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

double correlation(std::span<const double> a, std::span<const double> b) {
  double mean_a = 0, mean_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / static_cast<double>(a.size());
    mean_b += b[i] / static_cast<double>(b.size());
  }
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

class Search {
 public:
  Search(const Design& design, std::span<const double> targets, const StepwiseOptions& options)
      : design_(design), targets_(targets), options_(options) {
    for (std::size_t i = 0; i < design.columns(); ++i) {
      if (!is_constant(design.column(i))) unused_.push_back(i);
    }
  }

  Result<StepwiseFit> run() {
    ORRERY_TRY(fit_, least_squares(Design(), targets_));
    for (int step = 0; step < options_.steps_max; ++step) {
      const bool has_added = add();
      const bool has_removed = remove();
      if (!has_added && !has_removed) break;
    }
    StepwiseFit result{chosen_, fit_, history_};
    std::sort(result.columns.begin(), result.columns.end());
    if (result.columns != chosen_) {
      ORRERY_TRY(result.fit, least_squares(design_.columns_at(result.columns), targets_));
    }
    return result;
  }

 private:
  // |b / se| of a column of the present fit.
  static double t_value(const LinearFit& fit, std::size_t place) {
    const double error = fit.standard_errors[place];
    return error > 0 ? std::abs(fit.coefficients[place]) / error : std::numeric_limits<double>::infinity();
  }

  // None when the columns depend on each other or the rows are too few.
  std::optional<LinearFit> fit_with(std::size_t column) const {
    std::vector<std::size_t> columns = chosen_;
    columns.push_back(column);
    auto fit = least_squares(design_.columns_at(columns), targets_);
    if (!fit) return std::nullopt;
    return std::move(*fit);
  }

  std::optional<std::size_t> candidate() const {
    std::vector<double> residuals;
    const Design present = design_.columns_at(chosen_);
    for (std::size_t row = 0; row < targets_.size(); ++row) {
      residuals.push_back(targets_[row] - fit_.predict(present, row));
    }
    std::optional<std::size_t> best;
    double best_score = -1;
    for (const std::size_t column : unused_) {
      double score = std::abs(correlation(design_.column(column), residuals));
      if (options_.rule == StepwiseRule::kPartial) {
        const auto fit = fit_with(column);
        if (!fit) continue;
        score = t_value(*fit, chosen_.size());
      }
      if (score > best_score) {
        best = column;
        best_score = score;
      }
    }
    return best;
  }

  bool add() {
    const auto column = candidate();
    if (!column) return false;
    auto fit = fit_with(*column);
    if (!fit) return false;
    const auto degrees = static_cast<double>(targets_.size()) - static_cast<double>(chosen_.size() + 2);
    if (t_value(*fit, chosen_.size()) <= student_quantile(1 - options_.p_add / 2, degrees)) return false;
    chosen_.push_back(*column);
    std::erase(unused_, *column);
    fit_ = std::move(*fit);
    history_.push_back("+" + design_.names()[*column]);
    return true;
  }

  bool remove() {
    if (chosen_.empty()) return false;
    std::size_t weakest = 0;
    for (std::size_t i = 1; i < chosen_.size(); ++i) {
      if (t_value(fit_, i) < t_value(fit_, weakest)) weakest = i;
    }
    const auto degrees = static_cast<double>(targets_.size()) - static_cast<double>(chosen_.size() + 1);
    if (t_value(fit_, weakest) >= student_quantile(1 - options_.p_remove / 2, degrees)) return false;
    std::vector<std::size_t> left = chosen_;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(weakest));
    auto fit = least_squares(design_.columns_at(left), targets_);
    if (!fit) return false;
    history_.push_back("-" + design_.names()[chosen_[weakest]]);
    unused_.push_back(chosen_[weakest]);
    chosen_ = std::move(left);
    fit_ = std::move(*fit);
    return true;
  }

  const Design& design_;
  std::span<const double> targets_;
  StepwiseOptions options_;
  std::vector<std::size_t> unused_, chosen_;
  LinearFit fit_;
  std::vector<std::string> history_;
};

}  // namespace

Result<StepwiseFit> stepwise(const Design& design, std::span<const double> targets, const StepwiseOptions& options) {
  return Search(design, targets, options).run();
}

}  // namespace orrery::predict
