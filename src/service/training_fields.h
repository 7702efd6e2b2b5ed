#pragma once
// The fields that describe training and GPUs, which many requests share.
//
// `batch` is global everywhere: the samples of one step over the whole job. `batch_per_gpu` is what each GPU sees of it:
// the batch of one replica.

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "predict/run_spec.h"
#include "workload/job_spec.h"

namespace orrery::service {

// Everything but the devices.
struct TrainingFields {
  Setting<std::vector<std::int64_t>> batch;          // empty: batch_per_gpu says it
  Setting<std::vector<std::int64_t>> batch_per_gpu;  // not used with batch
  Setting<std::vector<std::optional<Precision>>> precision;
  Setting<workload::Optimizer> optimizer;
  Setting<std::int64_t> steps;
  std::optional<double> epochs;
  std::optional<std::int64_t> dataset_size;
  Setting<int> tensor, pipeline, microbatches, zero, servers;
  Setting<workload::GradientExchange> exchange;

  workload::Parallelism parallelism() const;  // its replicas stay 1

  bool operator==(const TrainingFields&) const = default;
};
// `batch_per_gpu` is its default: one value or a list.
Fields<TrainingFields> training_fields(std::string batch_per_gpu = "32");

// "A100:8"; the number may be left out.
struct GpuCount {
  std::string device;
  std::optional<int> count;

  friend bool operator==(const GpuCount&, const GpuCount&) = default;
};

struct GpuFields {
  std::vector<GpuCount> gpus;  // instead of device and count
  Setting<std::vector<std::string>> device;
  Setting<std::vector<int>> count;
  std::optional<int> nodes;
  Setting<int> gpus_per_node;
  std::string network;  // empty: the usual one

  bool operator==(const GpuFields&) const = default;
};
Fields<GpuFields> gpu_fields();

// Fields that were not given take the values of the job.
void complete(TrainingFields& fields, const workload::JobSpec& job);

// How to train, with the first precision. Errors name fields that exclude or need each other.
Result<predict::RunSpec> run_spec(const TrainingFields& fields, const FieldNames& names);

}  // namespace orrery::service
