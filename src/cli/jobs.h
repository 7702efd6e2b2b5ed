#pragma once
// Job files on the command line: a job is accepted in place of a model, and its fields in place of options that were
// not given.

#include <optional>
#include <string>

#include "base/options.h"
#include "env/env.h"
#include "workload/job_file.h"

namespace orrery::cli {

// Reads a job file and checks that its devices exist.
Result<workload::JobFile> read_job_file(env::Env env, const std::string& path);

// The job in the file of that name; no value if the word is a model: of the zoo, or a file of another kind. Whether the
// word has an ending and a file of this name exists: then it is the file, also where it could be a tagged name of the
// zoo.
bool is_tagged_file(env::Env env, const std::string& word);

Result<std::optional<workload::JobFile>> find_job(env::Env env, const std::string& word);

// The job's model as load_model takes it: a name of the zoo, or a path. An error if the job has none.
Result<std::string> model_of(env::Env env, const workload::JobFile& job);

// The job as the command line changes it: options that were given override the file.
Result<workload::JobSpec> changed_job(workload::JobSpec job, const OptionValues& options);
// The options as the job completes them.
Result<OptionValues> completed_options(OptionValues options, const workload::JobSpec& job);

}  // namespace orrery::cli
