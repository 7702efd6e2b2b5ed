// Solves linear programs for lp_oracle_test.py.
//
// Input: programs, each "ROWS COLUMNS", a line "LOWER UPPER" for each row, and a line "COST LOWER UPPER COUNT" followed
// by "ROW VALUE" pairs for each column; "inf" and "-inf" are bounds. Output: a line "STATUS OBJECTIVE STEPS" each.

#include <fmt/format.h>
#include <iostream>
#include <string>

#include "schedule/lp/simplex.h"

namespace {

using orrery::schedule::LinearProgram;
using orrery::schedule::LpSolution;
using orrery::schedule::LpStatus;

double number() {
  std::string word;
  std::cin >> word;
  return std::stod(word);
}

std::string_view name_of(LpStatus status) {
  switch (status) {
    case LpStatus::kOptimal:
      return "optimal";
    case LpStatus::kInfeasible:
      return "infeasible";
    case LpStatus::kUnbounded:
      return "unbounded";
    case LpStatus::kStopped:
      break;
  }
  return "stopped";
}

}  // namespace

int main() {
  for (int rows = 0, columns = 0; std::cin >> rows >> columns;) {
    LinearProgram program;
    for (int i = 0; i < rows; ++i) {
      const double lower = number();
      program.add_row(lower, number());
    }
    for (int j = 0; j < columns; ++j) {
      const double cost = number(), lower = number(), upper = number();
      std::vector<orrery::schedule::LpEntry> entries(static_cast<std::size_t>(number()));
      for (auto& entry : entries) {
        entry.row = static_cast<int>(number());
        entry.value = number();
      }
      program.add_column(cost, lower, upper, std::move(entries));
    }
    const LpSolution solution = orrery::schedule::solve(program);
    fmt::print("{} {:.12g} {}\n", name_of(solution.status), solution.objective, solution.steps);
  }
}
