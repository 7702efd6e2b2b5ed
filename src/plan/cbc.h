#pragma once
// CBC as a child process under our own deadline. It is told to stop a little earlier by itself and return the best
// solution it has; it is killed at the deadline in any case. Files it reads and writes are removed afterwards.

#include <limits>

#include "base/result.h"
#include "base/units.h"
#include "env/env.h"
#include "plan/milp.h"

namespace orrery::plan {

struct CbcOptions {
  std::string program = "cbc";
  std::string scratch = "/tmp";  // a folder for files that exist as long as the call
  Seconds limit{60};
  // Only solutions that cost less are of interest; without one there is "no solution". Infinite: all are.
  double cutoff = std::numeric_limits<double>::infinity();
};

struct MilpAnswer {
  bool proven = false;  // optimal; else the best so far
  std::vector<double> values;
  double objective = 0;
  double bound = 0;  // no solution is cheaper
};

// Errors: kNotFound, no such program; kUnavailable, it was killed, late, or found nothing in time; kInfeasible, there
// is no solution; kInternal, its answer cannot be read.
Result<MilpAnswer> solve_with_cbc(const Milp& milp, const CbcOptions& options, env::Env env);

}  // namespace orrery::plan
