#include "schedule/lp/simplex.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "schedule/lp/basis_factor.h"

namespace orrery::schedule {

namespace {

constexpr double kFeasible = 1e-9;  // how far outside its bounds a variable may be, for bounds around 1
constexpr double kOptimal = 1e-9;   // reduced costs closer to 0 are 0
constexpr double kPivotMin = 1e-9;  // smaller pivots are rounding
constexpr int kExchangesMax = 64;   // before the basis is factorised anew
constexpr int kIdleMax = 200;       // steps without progress before Bland's rule, and as many more as there are rows

double slack_of(double bound) {
  return kFeasible * (1 + std::abs(bound));
}

// Variables are the columns, then a slack per row with the column -e_i, so that every row is an equation with right
// side 0. Invariants between steps: a variable that is not basic has exactly the value of its place (a bound, or 0 if
// it is free); the basic ones solve B x_B = -(sum of the others) up to rounding; factor_ is that of basis_. Feasibility
// is not an invariant: it is the goal of the first phase, and is judged anew at every step.
class Simplex {
 public:
  Simplex(const LinearProgram& program, const LpOptions& options)
      : program_(program), options_(options), rows_(program.rows.size()), all_(program.columns.size() + rows_) {
    slacks_.resize(rows_);
    for (std::size_t i = 0; i < rows_; ++i) slacks_[i] = {{static_cast<int>(i), -1.0}};
    for (std::size_t j = 0; j < all_; ++j) {
      double length = 0;
      for (const LpEntry& entry : column(j)) length += entry.value * entry.value;
      lengths_.push_back(std::sqrt(1 + length));
      cost_max_ = std::max(cost_max_, std::abs(cost(j)));
    }
    values_.assign(all_, 0);
    start();
  }

  LpSolution run() {
    LpStatus status = LpStatus::kStopped;
    for (; steps_ < options_.steps_max; ++steps_) {
      const Step step = next();
      if (step.entering < 0) {
        // Values and prices drift with every exchange, so an end is accepted only with fresh factors and values.
        if (!is_fresh_) {
          refresh();
          continue;
        }
        status = is_feasible_ ? LpStatus::kOptimal : LpStatus::kInfeasible;
        break;
      }
      if (step.length == kLpInfinity) {
        if (!is_fresh_) {
          refresh();
          continue;
        }
        status = is_feasible_ ? LpStatus::kUnbounded : LpStatus::kInfeasible;
        break;
      }
      take(step);
    }
    return answer(status);
  }

 private:
  struct Step {
    int entering = -1;
    double sign = 1;                 // +1: it grows
    double length = 0;               // by how much; infinite: nothing stops it
    int leaving = -1;                // a position of the basis; -1: it moves to its own other bound
    LpPlace side = LpPlace::kLower;  // where the leaving one stays
  };

  const std::vector<LpEntry>& column(std::size_t j) const {
    return j < program_.columns.size() ? program_.columns[j].entries : slacks_[j - program_.columns.size()];
  }
  const LpBounds& bounds(std::size_t j) const {
    return j < program_.columns.size() ? program_.columns[j].bounds : program_.rows[j - program_.columns.size()];
  }
  double cost(std::size_t j) const { return j < program_.columns.size() ? program_.columns[j].cost : 0; }

  static LpPlace resting_place(const LpBounds& bounds) {
    if (bounds.lower > -kLpInfinity) return LpPlace::kLower;
    return bounds.upper < kLpInfinity ? LpPlace::kUpper : LpPlace::kFree;
  }

  void start() {
    const bool warm =
        options_.start.size() == all_ &&
        std::count(options_.start.begin(), options_.start.end(), LpPlace::kBasic) == static_cast<std::ptrdiff_t>(rows_);
    for (std::size_t j = 0; j < all_; ++j) {
      LpPlace place = warm ? options_.start[j] : j < program_.columns.size() ? LpPlace::kLower : LpPlace::kBasic;
      const bool lower = place == LpPlace::kLower && bounds(j).lower > -kLpInfinity;
      const bool upper = place == LpPlace::kUpper && bounds(j).upper < kLpInfinity;
      if (place != LpPlace::kBasic && !lower && !upper) place = resting_place(bounds(j));
      places_.push_back(place);
      if (place == LpPlace::kBasic) basis_.push_back(j);
    }
    refresh();
  }

  void rest(std::size_t j, LpPlace place) {
    places_[j] = place;
    values_[j] = place == LpPlace::kLower ? bounds(j).lower : place == LpPlace::kUpper ? bounds(j).upper : 0;
  }

  // Factorises the basis and computes the basic variables from the others. If the basis is singular (a warm start, or
  // rounding), slacks replace the dependent columns, which always gives a regular one; the replaced variables go to a
  // bound.
  void refresh() {
    while (true) {
      std::vector<const BasisFactor::Column*> columns;
      for (const std::size_t j : basis_) columns.push_back(&column(j));
      const auto dependent = factor_.factorise(columns);
      if (dependent.empty()) break;
      for (const auto& [position, row] : dependent) {
        std::size_t& there = basis_[static_cast<std::size_t>(position)];
        rest(there, resting_place(bounds(there)));
        there = program_.columns.size() + static_cast<std::size_t>(row);
        places_[there] = LpPlace::kBasic;
      }
    }
    std::vector<double> right(rows_, 0);
    for (std::size_t j = 0; j < all_; ++j) {
      if (places_[j] == LpPlace::kBasic) continue;
      rest(j, places_[j]);
      if (values_[j] == 0) continue;
      for (const LpEntry& entry : column(j)) right[static_cast<std::size_t>(entry.row)] -= entry.value * values_[j];
    }
    factor_.solve(right);
    for (std::size_t i = 0; i < rows_; ++i) values_[basis_[i]] = right[i];
    is_fresh_ = true;
  }

  // -1 below its bounds, +1 above, 0 inside.
  int side_of(std::size_t j) const {
    const LpBounds& b = bounds(j);
    if (values_[j] < b.lower - slack_of(b.lower)) return -1;
    return values_[j] > b.upper + slack_of(b.upper) ? 1 : 0;
  }

  // Prices of the rows. While a basic variable is outside its bounds (first phase), the objective is the sum of the
  // distances, whose gradient is -1 or +1 for those variables. It changes when a variable comes inside, so it is
  // computed anew at every step. When none is outside, it is the cost. No weight combines the two, so neither can spoil
  // the other.
  void price() {
    prices_.assign(rows_, 0);
    is_feasible_ = true;
    for (std::size_t i = 0; i < rows_; ++i) {
      const int side = side_of(basis_[i]);
      prices_[i] = side;
      is_feasible_ = is_feasible_ && side == 0;
    }
    if (is_feasible_) {
      for (std::size_t i = 0; i < rows_; ++i) prices_[i] = cost(basis_[i]);
    }
    factor_.solve_transposed(prices_);
  }

  double reduced_cost(std::size_t j) const {
    double result = is_feasible_ ? cost(j) : 0;
    for (const LpEntry& entry : column(j)) result -= prices_[static_cast<std::size_t>(entry.row)] * entry.value;
    return result;
  }

  bool is_bland() const { return idle_ > kIdleMax + static_cast<int>(rows_); }

  // The entering variable: a reduced cost d says by how much the objective changes per unit. Dantzig's rule takes the
  // largest |d|, here over the length of the column, so that the scale of a column does not decide. Under Bland's rule
  // the first candidate is taken.
  Step next() {
    price();
    Step step;
    double best = 0;
    const double tolerance = kOptimal * (is_feasible_ ? 1 + cost_max_ : 1);
    for (std::size_t j = 0; j < all_; ++j) {
      if (places_[j] == LpPlace::kBasic || bounds(j).is_fixed()) continue;
      const double d = reduced_cost(j);
      const bool grows = d < -tolerance && places_[j] != LpPlace::kUpper;
      const bool shrinks = d > tolerance && places_[j] != LpPlace::kLower;
      if (!grows && !shrinks) continue;
      const double score = std::abs(d) / lengths_[j];
      if (score <= best) continue;
      best = score;
      step.entering = static_cast<int>(j);
      step.sign = grows ? 1 : -1;
      if (is_bland()) break;
    }
    if (step.entering >= 0) find_length(step);
    return step;
  }

  // How far basic variable i lets the entering one move if it may pass its bound by its tolerance. Infinite: without
  // limit.
  double room(std::size_t i, double rate, bool with_slack, LpPlace& side) const {
    const std::size_t j = basis_[i];
    const LpBounds& b = bounds(j);
    const int outside = is_feasible_ ? 0 : side_of(j);
    // A variable outside its bounds stops at the bound where it comes in, and has no limit on its way out.
    double bound = rate > 0 ? b.upper : b.lower;
    side = rate > 0 ? LpPlace::kUpper : LpPlace::kLower;
    if (outside != 0) {
      if ((outside < 0) != (rate > 0)) return kLpInfinity;
      bound = outside < 0 ? b.lower : b.upper;
      side = outside < 0 ? LpPlace::kLower : LpPlace::kUpper;
    }
    if (std::abs(bound) == kLpInfinity) return kLpInfinity;
    const double slack = with_slack ? slack_of(bound) : 0;
    return std::max(0.0, ((bound - values_[j]) / rate) + slack / std::abs(rate));
  }

  // The ratio test in two passes (Harris). The first finds the longest step with every bound widened by its tolerance;
  // the second takes, among the variables that reach their true bound within that step, the one with the largest pivot.
  // So ties and near ties are decided for numerical stability, and a variable passes its bound at most by the
  // tolerance. Under Bland's rule the bounds are exact and the lowest index leaves: that rule excludes cycles, and
  // needs both.
  void find_length(Step& step) {
    const auto entering = static_cast<std::size_t>(step.entering);
    direction_.assign(rows_, 0);
    for (const LpEntry& entry : column(entering)) direction_[static_cast<std::size_t>(entry.row)] += entry.value;
    factor_.solve(direction_);
    const bool bland = is_bland();
    double most = kLpInfinity;
    LpPlace side = LpPlace::kLower;
    for (std::size_t i = 0; i < rows_; ++i) {
      if (std::abs(direction_[i]) < kPivotMin) continue;
      most = std::min(most, room(i, -step.sign * direction_[i], !bland, side));
    }
    double pivot = 0;
    step.length = kLpInfinity;
    for (std::size_t i = 0; i < rows_ && most < kLpInfinity; ++i) {
      const double size = std::abs(direction_[i]);
      if (size < kPivotMin) continue;
      const double length = room(i, -step.sign * direction_[i], false, side);
      if (length > most) continue;
      const bool better =
          step.leaving < 0 || (bland ? basis_[i] < basis_[static_cast<std::size_t>(step.leaving)] : size > pivot);
      if (!better) continue;
      pivot = size;
      step.leaving = static_cast<int>(i);
      step.length = length;
      step.side = side;
    }
    // A variable that reaches its own other bound first changes its place without a change of the basis.
    const double own = bounds(entering).upper - bounds(entering).lower;
    if (own <= step.length) {
      step.length = own;
      step.leaving = -1;
    }
  }

  // A step of length 0 (a degenerate vertex) changes the basis but not the point. Only a series of such steps can
  // cycle; idle_ counts them and switches to Bland's rule until the point moves.
  void take(const Step& step) {
    const auto entering = static_cast<std::size_t>(step.entering);
    idle_ = step.length > kFeasible ? 0 : idle_ + 1;
    for (std::size_t i = 0; i < rows_; ++i) values_[basis_[i]] -= step.sign * step.length * direction_[i];
    values_[entering] += step.sign * step.length;
    if (step.leaving < 0) {
      rest(entering, step.sign > 0 ? LpPlace::kUpper : LpPlace::kLower);
      is_fresh_ = false;
      return;
    }
    const auto leaving = static_cast<std::size_t>(step.leaving);
    rest(basis_[leaving], step.side);
    basis_[leaving] = entering;
    places_[entering] = LpPlace::kBasic;
    factor_.exchange(step.leaving, direction_);
    is_fresh_ = false;
    if (factor_.exchanges() >= kExchangesMax) refresh();
  }

  LpSolution answer(LpStatus status) {
    LpSolution solution;
    solution.status = status;
    solution.steps = steps_;
    solution.places = places_;
    const auto columns = static_cast<std::ptrdiff_t>(program_.columns.size());
    solution.columns.assign(values_.begin(), values_.begin() + columns);
    solution.rows.assign(rows_, 0);
    for (std::size_t j = 0; j < program_.columns.size(); ++j) {
      solution.objective += cost(j) * values_[j];
      for (const LpEntry& entry : program_.columns[j].entries) {
        solution.rows[static_cast<std::size_t>(entry.row)] += entry.value * values_[j];
      }
    }
    if (status == LpStatus::kOptimal) solution.prices = prices_;
    return solution;
  }

  const LinearProgram& program_;
  const LpOptions& options_;
  std::size_t rows_, all_;
  std::vector<std::vector<LpEntry>> slacks_;
  std::vector<double> lengths_;
  double cost_max_ = 0;
  std::vector<LpPlace> places_;
  std::vector<double> values_;
  std::vector<std::size_t> basis_;  // variables by position
  BasisFactor factor_;
  std::vector<double> prices_;     // by row
  std::vector<double> direction_;  // by position, of the entering variable
  bool is_feasible_ = false;
  bool is_fresh_ = false;  // nothing has moved since the last factorisation
  int steps_ = 0;
  int idle_ = 0;
};

}  // namespace

LpSolution solve(const LinearProgram& program, const LpOptions& options) {
  for (const LpColumn& column : program.columns) {
    for (const LpEntry& entry : column.entries) {
      ORRERY_CHECK(entry.row >= 0 && static_cast<std::size_t>(entry.row) < program.rows.size());
      ORRERY_CHECK(std::isfinite(entry.value));
    }
  }
  return Simplex(program, options).run();
}

}  // namespace orrery::schedule
