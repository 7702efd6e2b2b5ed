#pragma once
// A square sparse matrix B as L U, with columns exchanged one at a time since then (product form).
//
// Left-looking elimination, sparse columns first; of the rows whose entry is within a factor of ten of the largest, the
// one with fewest entries is the pivot. O(m^2) plus fill-in; a solve is linear in the entries of the factors.

#include <span>
#include <vector>

#include "schedule/lp/linear_program.h"

namespace orrery::schedule {

class BasisFactor {
 public:
  using Column = std::vector<LpEntry>;

  // A position whose column depends on those before it, and the row that is left without a pivot.
  struct Dependent {
    int position = 0;
    int row = 0;
  };

  // Factorises the matrix with these columns. If there are dependent ones, the factors are useless: the caller puts the
  // unit column of the row there and factorises again.
  std::vector<Dependent> factorise(const std::vector<const Column*>& columns);

  // Solves B x = a. `vector` has a by row before, x by position after.
  void solve(std::vector<double>& vector) const;
  // Solves B^T y = c. `vector` has c by position before, y by row after.
  void solve_transposed(std::vector<double>& vector) const;

  // The column at `position` becomes the one whose solve() is `direction`. Precondition: direction[position] is not 0.
  void exchange(int position, const std::vector<double>& direction);
  int exchanges() const { return static_cast<int>(etas_.size()); }

 private:
  struct Pivot {
    int row = 0;
    int position = 0;
    double value = 0;
    Column lower{};  // rows without a pivot yet
    Column upper{};  // earlier pivots, by their number
  };
  struct Eta {
    int position = 0;
    double pivot = 0;
    Column others{};  // by position
  };

  void eliminate(std::vector<double>& work, std::size_t pivots, Column* upper) const;

  std::vector<Pivot> pivots_;
  std::vector<Eta> etas_;
  mutable std::vector<double> work_;
};

}  // namespace orrery::schedule
