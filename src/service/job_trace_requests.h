#pragma once
// Showing, converting and generating job traces.

#include "base/table.h"
#include "service/job_traces.h"
#include "simulate/generate.h"

namespace orrery::service {

struct JobTraceRequest {
  FieldNames names;
  std::string trace;
  JobTraceFields read;

  bool operator==(const JobTraceRequest&) const = default;
};
const Fields<JobTraceRequest>& job_trace_request_fields();
Result<simulate::JobTraceFile> read_job_trace(env::Env env, const JobTraceRequest& request);

// Jobs by the number of their GPUs.
Table size_table(const simulate::JobTrace& job_trace);
// The skipped rows.
Table problem_table(const simulate::JobTraceFile& file);

struct GenerateRequest {
  FieldNames names;
  simulate::GenerateOptions options;

  bool operator==(const GenerateRequest&) const = default;
};
const Fields<GenerateRequest>& generate_fields();
simulate::JobTrace generate_job_trace(const GenerateRequest& request);

}  // namespace orrery::service
