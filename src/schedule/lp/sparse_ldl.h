#pragma once
// L D L^T of a sparse symmetric matrix with a fixed pattern and changing values.
//
// The matrix must be quasi-definite (positive definite on some of its rows, negative definite on the others), so that
// any order of elimination works; rows with fewest neighbours go first. O(fill-in), up-looking (Davis, 2005).

#include <vector>

namespace orrery::schedule {

class SparseLdl {
 public:
  struct Entry {
    int row = 0, column = 0;
    double value = 0;
  };

  // Entries on and on one side of the diagonal, each once; all of the diagonal among them. Their order is that of the
  // values of factorise(). The first `positive` rows are those where the matrix is positive definite.
  SparseLdl(int size, int positive, const std::vector<Entry>& entries);

  void factorise(const std::vector<double>& values);
  void solve(std::vector<double>& right) const;

 private:
  void order(int size, const std::vector<Entry>& entries);

  int size_ = 0;
  std::vector<double> signs_;                               // by place, of the pivots
  std::vector<int> place_;                                  // of each row in the order of elimination
  std::vector<std::vector<std::pair<int, int>>> columns_;   // by place: rows above the diagonal, and index of the entry
  std::vector<int> diagonal_;                               // by place: index of the entry
  std::vector<int> parent_;                                 // in the elimination tree
  std::vector<std::vector<std::pair<int, double>>> lower_;  // columns of L below the diagonal
  std::vector<double> pivots_;
};

}  // namespace orrery::schedule
