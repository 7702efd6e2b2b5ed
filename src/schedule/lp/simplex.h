#pragma once
// The simplex method for linear programs with bounded variables, in its revised form.
//
// Every row i is an equation (A x)_i - s_i = 0 with the row's bounds on its slack s_i. A basis has as many variables as
// there are rows; the others are at one of their bounds (free ones at 0).
// 1. Start from the slacks, or from the basis of an earlier answer: a program that differs little then needs few steps.
// 2. While basic variables are outside their bounds, minimise the sum of what they are outside; if that cannot become
//    0, the program is infeasible. Then minimise the cost.
// 3. The variable with the best reduced cost for its length enters (Dantzig's rule, columns scaled to length 1). How
//    far it moves is decided with a small tolerance, so that a pivot of good size can be taken (Harris); a variable
//    that reaches its own other bound first only changes sides. If nothing stops it, the program is unbounded.
// 4. After many steps without progress, Bland's rule is followed until there is some, so that it cannot cycle.
// Ties: the lower index. A basis is factorised anew after every 64 exchanges.
// Sources: Dantzig (1963); Harris (1973); Bland (1977); Maros, "Computational Techniques of the Simplex Method" (2003).

#include <cstdint>
#include <vector>

#include "schedule/lp/linear_program.h"

namespace orrery::schedule {

enum class LpStatus : std::uint8_t {
  kOptimal,
  kInfeasible,
  kUnbounded,
  kStopped,  // too many steps; the point is the last one
};

enum class LpPlace : std::uint8_t { kLower, kUpper, kFree, kBasic };

struct LpOptions {
  int steps_max = 200'000;
  // Places of the columns, then of the rows, from an earlier answer; empty: none.
  std::vector<LpPlace> start{};
};

struct LpSolution {
  LpStatus status = LpStatus::kStopped;
  double objective = 0;
  std::vector<double> columns{};  // x
  std::vector<double> rows{};     // A x
  std::vector<double> prices{};   // of rows: change of the objective per unit by which their bound is raised
  std::vector<LpPlace> places{};  // of columns, then of rows
  int steps = 0;
};

// Precondition: no lower bound above its upper one, no row of an entry that does not exist, all coefficients finite.
LpSolution solve(const LinearProgram& program, const LpOptions& options = {});

}  // namespace orrery::schedule
