#pragma once
// Job files: JobSpec as YAML. docs/reference/formats/job.md describes the fields; examples/resnet50.job.yaml is one.

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/yaml.h"
#include "workload/job_spec.h"

namespace orrery::workload {

struct JobFile {
  JobSpec spec;
  YamlPlaces places;  // for what is found out later: places.error("resources.device", …)
};

// Where request `i` of spec.resources is in the file: "resources", or "resources.any_of[i]".
std::string request_path(const JobFile& job, std::size_t i);

// Errors read `file:line: field: message`. A spec that was read fits every fixed number of devices it asks for, and at
// least one number of every range.
Result<JobFile> read_job(std::string_view yaml, std::string_view file);

// Whether the beginning of a file can be that of a job: text whose first field is written `name:`.
bool looks_like_job(std::string_view beginning);

// The job as text that read_job and the JSON Schema understand. Fields at their default are left out.
std::string to_json(const JobSpec& job);
std::string to_yaml(const JobSpec& job);

// The published JSON Schema.
std::string job_schema();

}  // namespace orrery::workload
