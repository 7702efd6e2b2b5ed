#pragma once
// A linear program: minimise c x with row_lower <= A x <= row_upper and lower <= x <= upper. Bounds may be infinite.

#include <limits>
#include <span>
#include <vector>

namespace orrery::schedule {

inline constexpr double kLpInfinity = std::numeric_limits<double>::infinity();

struct LpEntry {
  int row = 0;
  double value = 0;
};

struct LpBounds {
  double lower = 0;
  double upper = kLpInfinity;

  bool is_fixed() const { return lower == upper; }
};

struct LpColumn {
  double cost = 0;
  LpBounds bounds{};
  std::vector<LpEntry> entries{};  // no row twice
};

// Numbers should be within a few powers of ten of 1: nothing is rescaled.
struct LinearProgram {
  std::vector<LpBounds> rows{};
  std::vector<LpColumn> columns{};

  // Both return the index of what they add.
  int add_row(double lower, double upper) {
    rows.push_back({lower, upper});
    return static_cast<int>(rows.size()) - 1;
  }
  int add_column(double cost, double lower, double upper, std::vector<LpEntry> entries) {
    columns.push_back({cost, {lower, upper}, std::move(entries)});
    return static_cast<int>(columns.size()) - 1;
  }
};

}  // namespace orrery::schedule
