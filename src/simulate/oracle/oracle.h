#pragma once
// Published results that our simulator is held to: runs the cases of a folder, says how far off we are.
//
// The kind of a folder is recognised by its files:
//   NAME.csv + NAME.expected_end_times.csv + NAME.summary.json   Tiresias simulator: end time of every job, by policy
//   expected_jct.csv + expected_avg.csv                          Pollux simulator: completion time of every job
//   NAME.json + NAME.jct.csv                                     Gavel simulator: mean completion times and makespans
//   published_CLUSTER.csv                                        AlloX and Hydra on batches of jobs
//   colocate_pairs.csv + single_job_profiles.csv                 measured pairs on one GPU: which of them Gandiva keeps
//   jct_list.csv + summary.csv                                   Shockwave: real runs, and those of its simulator
//   testbed_NxGPU.csv, simulated.csv                             Muri: real runs on N GPUs, and simulated ones
// CSV files may be packed (.csv.gz). Inputs (traces, tables) are looked for in the folder itself, in `data`, and in
// `fallback`.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/table.h"
#include "env/files.h"

namespace orrery::simulate {

enum class Bar {
  kEqual,   // every value the same; `tolerance` is relative, for sums of floating point
  kWithin,  // |ours / expected - 1| <= tolerance
  kAtMost,  // ours <= expected (1 + tolerance)
  kShown,   // run and shown; another case says what has to be reached
  kNone,    // not run; `note` says why
};

struct OracleCase {
  std::string instance;  // trace, job trace
  std::string policy;
  std::string metric;
  double expected = 0;
  double ours = 0;
  Bar bar = Bar::kEqual;
  double tolerance = 0;
  double seconds = 0;  // that our run took
  std::string note{};

  double deviation() const;  // ours / expected - 1; the difference where 0 is expected
  bool passed() const;
};

struct OracleInput {
  env::Files& files;
  std::function<double()> now_s;
  std::string folder;
  std::string data;      // inputs that are not in the folder; may be empty
  std::string fallback;  // and those that are not there either; may be empty
  std::string machines;  // of AlloX and Hydra: "A100=10,V100=20"
};

struct OracleReport {
  std::string kind;
  std::vector<OracleCase> cases;
  std::size_t failed() const;
  std::size_t not_run() const;
};

Result<OracleReport> run_oracle(const OracleInput& input);

Table to_table(const OracleReport& report);
std::string to_json(const OracleReport& report);

}  // namespace orrery::simulate
