#pragma once
// A point in the middle of all best points of a linear program, where the simplex method gives a corner.
//
// A path-following method in the form of Mehrotra (1992): each step solves, with x, slacks w, prices l of the rows and
// reduced costs z,
//   | z/x   A^T | |dx|   | reduced costs  |
//   |  A   -w/l | |dl| = | rows           |
// once for where a step to the optimum would lead, and once towards x z = w l = a part of their mean. It ends close to
// the analytic centre of the best points (the largest product of the values that are not 0). For programs with x >= 0
// and one finite bound per row.

#include "schedule/lp/simplex.h"

namespace orrery::schedule {

// `places` of the answer is empty. kStopped: infeasible or unbounded, or too ill-conditioned; the simplex method can
// tell which.
LpSolution solve_interior(const LinearProgram& program);

}  // namespace orrery::schedule
