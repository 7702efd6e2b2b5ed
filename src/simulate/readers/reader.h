#pragma once
// Job traces from other systems: traces of clusters and of simulators, accounting of Slurm, and our own forms.
// docs/reference/formats/job_trace.md describes each.
//
// A trace is external data: every row becomes a job or is counted as skipped, with its line and what was wrong. Only a
// file whose form cannot be recognised, or without a single usable job, is refused as a whole.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/job_trace.h"
#include "simulate/readers/speed_table.h"

namespace orrery::simulate {

struct ReadProblem {
  std::size_t line = 0;  // in the file, from 1
  std::string what;      // "field: what was wrong"
};

struct JobTraceFile {
  std::string format;
  JobTrace job_trace;    // in order, first submission at 0
  std::size_t rows = 0;  // jobs and skipped rows
  std::size_t skipped = 0;
  std::size_t not_jobs = 0;              // rows that are none for us: without GPUs, steps of a job; not skipped
  std::vector<ReadProblem> problems;     // the first kProblemsMax of the skipped rows
  std::size_t predicted = 0;             // jobs whose speed was not in the table and was predicted
  std::vector<ReadProblem> predictions;  // the first kProblemsMax of them: what was missing
  bool out_of_order = false;             // submissions went backwards and were sorted
  std::vector<std::string> unread{};     // columns that its form has no use for
  std::size_t ended = 0;                 // of the rows that are no jobs: jobs that have left the given queue
};

inline constexpr std::size_t kProblemsMax = 1000;
inline constexpr std::size_t kTraceJobsMax = 20'000'000;

struct ReadOptions {
  std::string format = "auto";
  SpeedTable speeds{};  // for forms that give steps or epochs and not times (Gavel, Pollux)
  // A speed that is not in the table is predicted from others in it, and named; otherwise the row is a bad one.
  bool predict_speeds = false;
  bool strict = false;  // the first bad row is an error
  // The jobs of a queue as it is: those that have ended are left out, and a length may be missing. Otherwise jobs that
  // still wait are bad rows, and those that run have run for as long as they have so far.
  bool queue = false;
};

struct JobTraceFormat {
  std::string name;
  std::string summary;
};
const std::vector<JobTraceFormat>& job_trace_formats();

// `file` names the source in messages.
Result<JobTraceFile> read_job_trace(std::string_view text, const std::string& file, const ReadOptions& options = {});

// Our own forms: CSV with a header, and one JSON object per line.
std::string to_csv(const JobTrace& job_trace);
std::string to_jsonl(const JobTrace& job_trace);

}  // namespace orrery::simulate
