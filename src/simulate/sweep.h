#pragma once
// Many runs of one job trace: every policy with every seed, several at a time, kept in a file so that an interrupted
// sweep continues where it stopped.
//
// The file has one JSON object per line: the columns of Summary, and `setup`, a key of everything that decides a run
// except its policy and seed. A row counts as done if setup, policy and seed are the same; rows of other setups stay
// and are ignored. A row is durable before the sweep continues. A line that was cut off by a crash is run again.

#include <functional>
#include <string>
#include <vector>

#include "env/files.h"
#include "simulate/runner.h"
#include "simulate/summary.h"

namespace orrery::simulate {

struct SweepInput {
  const JobTrace& job_trace;
  // Everything of a run with this seed; called from the threads of the runs.
  std::function<RunSetup(std::uint64_t seed)> setup;
  std::vector<std::string> policies;
  std::uint64_t first_seed = 1;
  int seeds = 1;
  int threads = 1;
  double gpu_price = 0;
  std::string fingerprint{};  // of everything but policy and seed
  std::string file{};         // empty: nothing is kept
};

// A run without metrics: its policy refuses the job trace, or left jobs behind.
struct SweepFailure {
  std::string policy;
  std::uint64_t seed = 0;
  Error error;
};

struct SweepResult {
  std::vector<Summary> rows;  // by policy, then seed; without those that failed
  std::size_t kept = 0;       // of them, from the file
  std::vector<SweepFailure> failures{};
};

// `done` is called for every run, under a lock; those from the file at once. An error is of the file.
Result<SweepResult> run_sweep(const SweepInput& input, env::Files& files, const std::function<void()>& done);

struct SweepRun {
  std::string policy;
  std::uint64_t seed = 0;
};

// Runs that are not in the file yet, by policy, then seed. `setup` of the input is not used.
Result<std::vector<SweepRun>> missing_runs(const SweepInput& input, env::Files& files);

// Rows of another run, from another file of the same form: those of this setup that are still missing are appended to
// ours. A file that is not there has none.
Status adopt_rows(const SweepInput& input, env::Files& files, const std::string& from);

// What the seeds of each policy have in common: means, and the lowest and highest mean completion time.
Table spread_table(const std::vector<Summary>& rows);

}  // namespace orrery::simulate
