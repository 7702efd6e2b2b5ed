#pragma once
// What a user names to train: a model of the zoo, a file with a model, or a job file with its model.

#include <optional>
#include <string>

#include "env/env.h"
#include "workload/graph.h"
#include "workload/job_file.h"

namespace orrery::service {

struct NamedModel {
  std::string name;               // for people
  workload::TrainingGraph graph;  // at batch 1
  std::optional<workload::JobSpec> job{};
};

// A name of the zoo is a model of the zoo; a name with an ending for which a file exists is that file, also where it
// could be a tagged name of the zoo (`resnet50.v2:x`).
Result<NamedModel> load_model(env::Env env, const std::string& name);
// The model of a job. An error if it has none.
Result<NamedModel> load_model(env::Env env, const workload::JobFile& job);

// Reads a job file and checks that its devices exist.
Result<workload::JobFile> read_job_file(env::Env env, const std::string& path);

// A path in a file starts at the folder of the file.
std::string beside(const std::string& file, const std::string& path);

}  // namespace orrery::service
