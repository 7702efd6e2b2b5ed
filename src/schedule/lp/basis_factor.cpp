#include "schedule/lp/basis_factor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery::schedule {

namespace {

constexpr double kDropped = 1e-14;    // smaller entries are rounding
constexpr double kSingular = 1e-9;    // a column without a larger entry depends on the others
constexpr double kPivotChoice = 0.1;  // pivots this close to the largest are as stable

}  // namespace

// The factors. Pivot k has a row and a position (a column of B). L_k is the unit vector of the row plus `lower`, whose
// rows become pivots later, so L is unit lower triangular in the order of pivots. The column of B at the position is
// the sum over earlier pivots p of upper[p] L_p, plus value L_k, so U is upper triangular with the values on its
// diagonal. Rows are never permuted in memory: `lower` names rows of B, `upper` numbers of pivots.
//
// Forward elimination, L y = work. Left-looking: a new column is reduced by all earlier pivots, in their order, and
// only then gets a pivot of its own. With `upper` (while factorising) y moves out of work into the column of U, so that
// work keeps the rows without a pivot; without it (in a solve) y stays at the pivot rows. Zero entries cost nothing,
// which makes it sparse.
void BasisFactor::eliminate(std::vector<double>& work, std::size_t pivots, Column* upper) const {
  for (std::size_t p = 0; p < pivots; ++p) {
    const Pivot& pivot = pivots_[p];
    const double value = work[static_cast<std::size_t>(pivot.row)];
    if (value == 0) continue;
    if (upper != nullptr) {
      work[static_cast<std::size_t>(pivot.row)] = 0;
      if (std::abs(value) < kDropped) continue;
      upper->push_back({static_cast<int>(p), value});
    }
    for (const LpEntry& entry : pivot.lower) work[static_cast<std::size_t>(entry.row)] -= value * entry.value;
  }
}

std::vector<BasisFactor::Dependent> BasisFactor::factorise(const std::vector<const Column*>& columns) {
  const std::size_t count = columns.size();
  etas_.clear();
  pivots_.clear();
  pivots_.reserve(count);
  std::vector<int> row_entries(count, 0);
  for (const Column* column : columns) {
    for (const LpEntry& entry : *column) ++row_entries[static_cast<std::size_t>(entry.row)];
  }
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  // Columns with few entries first: slacks and other singletons make pivots without fill-in.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return columns[static_cast<std::size_t>(a)]->size() < columns[static_cast<std::size_t>(b)]->size();
  });
  std::vector<bool> is_pivot(count, false);
  std::vector<int> dependent;
  work_.assign(count, 0);
  for (const int position : order) {
    for (const LpEntry& entry : *columns[static_cast<std::size_t>(position)]) {
      work_[static_cast<std::size_t>(entry.row)] += entry.value;
    }
    Pivot pivot;
    pivot.position = position;
    eliminate(work_, pivots_.size(), &pivot.upper);
    // Threshold pivoting: stability asks for a large entry, sparsity for a row with few. Any entry of at least a tenth
    // of the largest bounds the multipliers in L by 10; of those the row with fewest entries of B is taken, ties to the
    // lower row. Without an entry of kSingular the column is a combination of earlier ones up to rounding. It is
    // dropped, and at the end paired with a row that has no pivot: a unit column there makes the matrix regular.
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_pivot[i]) largest = std::max(largest, std::abs(work_[i]));
    }
    int best = -1;
    for (std::size_t i = 0; i < count && largest >= kSingular; ++i) {
      if (is_pivot[i] || std::abs(work_[i]) < kPivotChoice * largest) continue;
      if (best < 0 || row_entries[i] < row_entries[static_cast<std::size_t>(best)]) best = static_cast<int>(i);
    }
    if (best < 0) {
      dependent.push_back(position);
      std::fill(work_.begin(), work_.end(), 0);
      continue;
    }
    pivot.row = best;
    pivot.value = work_[static_cast<std::size_t>(best)];
    is_pivot[static_cast<std::size_t>(best)] = true;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = work_[i];
      work_[i] = 0;
      if (is_pivot[i] || std::abs(value) < kDropped) continue;
      pivot.lower.push_back({static_cast<int>(i), value / pivot.value});
    }
    pivots_.push_back(std::move(pivot));
  }
  std::vector<Dependent> result;
  std::size_t row = 0;
  for (const int position : dependent) {
    while (is_pivot[row]) ++row;
    result.push_back({position, static_cast<int>(row++)});
  }
  return result;
}

// B = (L U) E_1 ... E_m with one E per exchange, so B x = a is solved by L, then U from the last pivot back, then the
// inverse of each E in order. The result moves from rows to positions.
void BasisFactor::solve(std::vector<double>& vector) const {
  eliminate(vector, pivots_.size(), nullptr);
  work_.assign(vector.size(), 0);
  for (std::size_t k = pivots_.size(); k-- > 0;) {
    const Pivot& pivot = pivots_[k];
    const double rest = vector[static_cast<std::size_t>(pivot.row)];
    if (rest == 0) continue;
    const double value = rest / pivot.value;
    work_[static_cast<std::size_t>(pivot.position)] = value;
    for (const LpEntry& entry : pivot.upper) {
      vector[static_cast<std::size_t>(pivots_[static_cast<std::size_t>(entry.row)].row)] -= entry.value * value;
    }
  }
  vector.swap(work_);
  // E is the identity with column `position` replaced by the direction d: x_p = v_p / d_p, and every other x_i = v_i -
  // d_i x_p.
  for (const Eta& eta : etas_) {
    double& value = vector[static_cast<std::size_t>(eta.position)];
    if (value == 0) continue;
    value /= eta.pivot;
    for (const LpEntry& entry : eta.others) vector[static_cast<std::size_t>(entry.row)] -= entry.value * value;
  }
}

// The transposed solve takes the same factors in reverse order: E_m ... E_1, then U^T, then L^T.
void BasisFactor::solve_transposed(std::vector<double>& vector) const {
  for (std::size_t e = etas_.size(); e-- > 0;) {
    const Eta& eta = etas_[e];
    double& value = vector[static_cast<std::size_t>(eta.position)];
    for (const LpEntry& entry : eta.others) value -= entry.value * vector[static_cast<std::size_t>(entry.row)];
    value /= eta.pivot;
  }
  work_.assign(vector.size(), 0);  // by pivot
  for (std::size_t k = 0; k < pivots_.size(); ++k) {
    const Pivot& pivot = pivots_[k];
    double value = vector[static_cast<std::size_t>(pivot.position)];
    for (const LpEntry& entry : pivot.upper) value -= entry.value * work_[static_cast<std::size_t>(entry.row)];
    work_[k] = value / pivot.value;
  }
  for (std::size_t k = 0; k < pivots_.size(); ++k) vector[static_cast<std::size_t>(pivots_[k].row)] = work_[k];
  for (std::size_t k = pivots_.size(); k-- > 0;) {
    const Pivot& pivot = pivots_[k];
    double& value = vector[static_cast<std::size_t>(pivot.row)];
    for (const LpEntry& entry : pivot.lower) value -= entry.value * vector[static_cast<std::size_t>(entry.row)];
  }
}

// Product form of the inverse: with d = B^-1 a, the basis with a at `position` is B E, where E is the identity with
// column `position` replaced by d. L and U stay as they are. Each E adds work to every solve and error to every result,
// so the simplex method factorises again after some exchanges.
void BasisFactor::exchange(int position, const std::vector<double>& direction) {
  Eta& eta = etas_.emplace_back();
  eta.position = position;
  eta.pivot = direction[static_cast<std::size_t>(position)];
  for (std::size_t i = 0; i < direction.size(); ++i) {
    if (static_cast<int>(i) == position || std::abs(direction[i]) < kDropped) continue;
    eta.others.push_back({static_cast<int>(i), direction[i]});
  }
}

}  // namespace orrery::schedule
