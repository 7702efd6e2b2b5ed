#include "schedule/lp/sparse_ldl.h"

#include <algorithm>
#include <set>

namespace orrery::schedule {

namespace {

// A pivot of the wrong sign or closer to 0 is rounding, because a quasi-definite matrix has none; it is replaced by
// this value with the right sign. Iterative refinement (interior.cpp) repairs the error.
constexpr double kPivotMin = 1e-8;

}  // namespace

SparseLdl::SparseLdl(int size, int positive, const std::vector<Entry>& entries) : size_(size) {
  order(size, entries);
  signs_.resize(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i)
    signs_[static_cast<std::size_t>(place_[static_cast<std::size_t>(i)])] = i < positive ? 1 : -1;
  columns_.resize(static_cast<std::size_t>(size));
  diagonal_.assign(static_cast<std::size_t>(size), -1);
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const int a = place_[static_cast<std::size_t>(entries[e].row)],
              b = place_[static_cast<std::size_t>(entries[e].column)];
    if (a == b) {
      diagonal_[static_cast<std::size_t>(a)] = static_cast<int>(e);
    } else {
      columns_[static_cast<std::size_t>(std::max(a, b))].emplace_back(std::min(a, b), static_cast<int>(e));
    }
  }
  // The elimination tree: the parent of column i is the first row below the diagonal in column i of L. It bounds the
  // fill-in: row k of L has its entries on the paths from the columns with an entry A_ik up to k, so factorise() finds
  // the pattern of a row by walking the tree. `ancestor` skips the parts of paths that were walked before (Liu, 1990);
  // it changes the speed, not the tree.
  parent_.assign(static_cast<std::size_t>(size), -1);
  std::vector<int> ancestor(static_cast<std::size_t>(size), -1);
  for (int k = 0; k < size; ++k) {
    for (const auto& [row, entry] : columns_[static_cast<std::size_t>(k)]) {
      for (int i = row; i != -1 && i < k;) {
        const int next = ancestor[static_cast<std::size_t>(i)];
        ancestor[static_cast<std::size_t>(i)] = k;
        if (next == -1) parent_[static_cast<std::size_t>(i)] = k;
        i = next;
      }
    }
  }
}

// Minimum degree: eliminating a row joins all its neighbours, which is the fill-in, so the row with fewest neighbours
// goes next. The sets hold the graph of what is left after each step. Ties: the lower row, so that the order is
// deterministic. A quasi-definite matrix has factors in every order, so values need not be known here.
void SparseLdl::order(int size, const std::vector<Entry>& entries) {
  std::vector<std::set<int>> neighbours(static_cast<std::size_t>(size));
  for (const Entry& entry : entries) {
    if (entry.row == entry.column) continue;
    neighbours[static_cast<std::size_t>(entry.row)].insert(entry.column);
    neighbours[static_cast<std::size_t>(entry.column)].insert(entry.row);
  }
  std::set<std::pair<std::size_t, int>> queue;
  for (int i = 0; i < size; ++i) queue.emplace(neighbours[static_cast<std::size_t>(i)].size(), i);
  place_.assign(static_cast<std::size_t>(size), 0);
  for (int step = 0; step < size; ++step) {
    const int node = queue.begin()->second;
    queue.erase(queue.begin());
    place_[static_cast<std::size_t>(node)] = step;
    const std::set<int> around = std::move(neighbours[static_cast<std::size_t>(node)]);
    for (const int i : around) {
      std::set<int>& mine = neighbours[static_cast<std::size_t>(i)];
      queue.erase({mine.size(), i});
      mine.erase(node);
      for (const int j : around) {
        if (i != j) mine.insert(j);
      }
      queue.emplace(mine.size(), i);
    }
  }
}

// Up-looking: row k of L is found from rows 0 to k - 1 by the triangular solve L D l = (column k of A above the
// diagonal). Invariant: before step k, lower_ holds L without its rows from k on, and work is 0.
void SparseLdl::factorise(const std::vector<double>& values) {
  const auto count = static_cast<std::size_t>(size_);
  lower_.assign(count, {});
  pivots_.assign(count, 0);
  std::vector<double> work(count, 0);
  std::vector<int> mark(count, -1), path, pattern;
  for (int k = 0; k < size_; ++k) {
    const auto at = static_cast<std::size_t>(k);
    pattern.clear();
    mark[at] = k;
    for (const auto& [row, entry] : columns_[at]) {
      work[static_cast<std::size_t>(row)] += values[static_cast<std::size_t>(entry)];
      path.clear();
      for (int i = row; mark[static_cast<std::size_t>(i)] != k; i = parent_[static_cast<std::size_t>(i)]) {
        path.push_back(i);
        mark[static_cast<std::size_t>(i)] = k;
      }
      pattern.insert(pattern.end(), path.begin(), path.end());
    }
    // Ascending places are a topological order of the tree: a column comes after all columns of the pattern that change
    // it. work[i] is final when it is reached, and equals L_ki D_i.
    std::sort(pattern.begin(), pattern.end());
    double pivot = values[static_cast<std::size_t>(diagonal_[at])];
    for (const int i : pattern) {
      const auto column = static_cast<std::size_t>(i);
      const double value = work[column];
      work[column] = 0;
      for (const auto& [row, entry] : lower_[column]) work[static_cast<std::size_t>(row)] -= entry * value;
      const double scaled = value / pivots_[column];
      pivot -= scaled * value;
      lower_[column].emplace_back(k, scaled);
    }
    pivots_[at] = pivot * signs_[at] < kPivotMin ? kPivotMin * signs_[at] : pivot;
  }
}

void SparseLdl::solve(std::vector<double>& right) const {
  const auto count = static_cast<std::size_t>(size_);
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) x[static_cast<std::size_t>(place_[i])] = right[i];
  for (std::size_t j = 0; j < count; ++j) {
    for (const auto& [row, entry] : lower_[j]) x[static_cast<std::size_t>(row)] -= entry * x[j];
  }
  for (std::size_t j = 0; j < count; ++j) x[j] /= pivots_[j];
  for (std::size_t j = count; j-- > 0;) {
    for (const auto& [row, entry] : lower_[j]) x[j] -= entry * x[static_cast<std::size_t>(row)];
  }
  for (std::size_t i = 0; i < count; ++i) right[i] = x[static_cast<std::size_t>(place_[i])];
}

}  // namespace orrery::schedule
