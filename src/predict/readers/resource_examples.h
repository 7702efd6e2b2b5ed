#pragma once
// Measured use of resources by trainings, each run with its graph, in the three forms there are:
//
//   a folder of GPUMemNet's (driple/layer_runs.h)  multi-layer perceptrons: peak memory and five kinds of activity
//   a set of measured jobs (profile/jobs)          Driple's twelve metrics of a worker of a data-parallel job
//   a table (docs/formats/resources.md)            CSV: model, batch, and a column for every metric

#include <functional>
#include <optional>

#include "env/files.h"
#include "predict/driple/resource_model.h"

namespace orrery::profile {
struct Job;
struct JobSet;
}  // namespace orrery::profile

namespace orrery::predict {

inline constexpr const char* kLayerRunFiles[] = {"mlp_data_step1.csv.gz", "mlp_data_step2.csv.gz"};

// Every run of kLayerRunFiles in the folder.
Result<NamedExamples> read_layer_examples(env::Files& files, const std::string& folder,
                                          const OpFrequencies& frequencies);

// Shares of operators are `given`, or those of the graphs themselves.
Result<ResourceSet> read_layer_set(env::Files& files, const std::string& folder,
                                   const std::optional<OpFrequencies>& given);
// Jobs for which `is_wanted`.
Result<ResourceSet> job_resource_set(const profile::JobSet& jobs,
                                     const std::function<bool(const profile::Job& job)>& is_wanted,
                                     const std::optional<OpFrequencies>& given);
// `name` stands for the file in errors, which name the line.
Result<ResourceSet> parse_resource_table(std::string_view csv, std::string_view name,
                                         const std::optional<OpFrequencies>& given);

}  // namespace orrery::predict
