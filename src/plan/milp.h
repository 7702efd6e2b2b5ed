#pragma once
// A linear program in whole, non-negative numbers: minimise Σ cost·x under rows Σ entry·x ≤ or ≥ right side.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace orrery::plan {

enum class RowSense { kAtMost, kAtLeast };

struct MilpRow {
  RowSense sense = RowSense::kAtMost;
  double right = 0;
};

struct MilpColumn {
  double cost = 0;
  double upper = 1;
  std::vector<std::pair<std::size_t, double>> entries{};  // row, coefficient
};

struct Milp {
  std::vector<MilpRow> rows;
  std::vector<MilpColumn> columns;

  std::size_t add_row(RowSense sense, double right) {
    rows.push_back({sense, right});
    return rows.size() - 1;
  }
};

// Free MPS with rows r0, r1, … and columns c0, c1, …; costs are multiplied by `scale`.
std::string to_mps(const Milp& milp, double scale);

}  // namespace orrery::plan
