#pragma once
// A job file: what it describes, and where it can run.

#include "base/table.h"
#include "service/runs.h"

namespace orrery::service {

struct JobCheckRequest {
  FieldNames names;
  std::string file;

  bool operator==(const JobCheckRequest&) const = default;
};
const Fields<JobCheckRequest>& job_check_fields();

struct JobCheckAnswer {
  workload::JobSpec spec;
  std::vector<RunPoint> runs;  // every run that the job asks for; none of a job without a model
};
// An error names the place in the file, and says why a run is impossible.
Result<JobCheckAnswer> check_job(env::Env env, const JobCheckRequest& request);

// The fields of the job by their paths.
Table job_table(const workload::JobSpec& job);
// "4 × V100: 4 replicas of batch 64, 8 steps": what the job states about a run, without the defaults of requests.
std::string run_text(const RunPoint& point, const workload::JobSpec& job);

}  // namespace orrery::service
