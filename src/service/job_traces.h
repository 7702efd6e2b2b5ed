#pragma once
// Job traces that requests name, and how they are read.

#include "base/fields.h"
#include "env/env.h"
#include "simulate/readers/reader.h"

namespace orrery::service {

// Of jobs whose model and GPUs are not in the table of speeds.
enum class MissingSpeeds { kRefuse, kPredict };
std::string_view to_string(MissingSpeeds choice);

struct JobTraceFields {
  std::string format;  // auto: by its columns
  std::string speeds;  // throughputs, for traces that give steps: a file or a folder; empty: none
  MissingSpeeds missing_speeds = MissingSpeeds::kRefuse;
  bool strict = false;  // the first bad row is an error

  bool operator==(const JobTraceFields&) const = default;
};
const Fields<JobTraceFields>& job_trace_fields();
// The file itself, as the first word of a command.
OptionRecord trace_option();

Result<simulate::JobTraceFile> load_job_trace(env::Env env, const std::string& path, const JobTraceFields& fields);
// The jobs of a queue as they wait and run now (ReadOptions::queue).
Result<simulate::JobTraceFile> load_queue(env::Env env, const std::string& path, const JobTraceFields& fields);

// How many rows were skipped and why, for people.
std::string problems_text(const simulate::JobTraceFile& file, std::size_t shown);

}  // namespace orrery::service
