#pragma once
// Data sets of measurements: building one, of configurations of models or of data-parallel jobs, and summing one up.

#include "base/fields.h"
#include "base/table.h"
#include "profile/dataset/build.h"
#include "profile/jobs/build_jobs.h"
#include "service/watch.h"

namespace orrery::service {

// What runs models here, on this core.
Result<profile::Workbench> workbench(env::Env env);

struct DatasetBuildRequest {
  FieldNames names;
  std::string file;
  std::size_t count = 0;        // configurations that the file should hold
  std::optional<Seconds> time;  // to stop after; the same request continues
  std::uint64_t seed = 0;
  std::size_t visits = 0;  // of each configuration
  int threads = 0;
  bool busy = false;  // measure although other programs use the processor

  friend bool operator==(const DatasetBuildRequest&, const DatasetBuildRequest&) = default;
};
const Fields<DatasetBuildRequest>& dataset_build_fields();
Result<profile::BuildReport> build_dataset(env::Env env, const DatasetBuildRequest& request, Watch& watch);

struct DatasetJobsRequest {
  FieldNames names;
  std::string file;
  std::size_t count = 0;  // jobs that the file should hold
  std::optional<Seconds> time;
  std::uint64_t seed = 0;
  bool busy = false;  // measure although other programs use the processor

  friend bool operator==(const DatasetJobsRequest&, const DatasetJobsRequest&) = default;
};
const Fields<DatasetJobsRequest>& dataset_jobs_fields();
Result<profile::JobsReport> build_job_dataset(env::Env env, const DatasetJobsRequest& request, Watch& watch);

struct DatasetShowRequest {
  FieldNames names;
  std::string file;  // of either kind

  friend bool operator==(const DatasetShowRequest&, const DatasetShowRequest&) = default;
};
const Fields<DatasetShowRequest>& dataset_show_fields();

struct DatasetSummary {
  std::string text;  // where and how it was measured
  Table table;       // by family or by setting
};
Result<DatasetSummary> show_dataset(env::Env env, const DatasetShowRequest& request);
DatasetSummary show_jobs(const profile::JobSet& set);

}  // namespace orrery::service
