#pragma once
// The runs that a request asks for: every combination of its lists.

#include "hardware/placement.h"
#include "predict/prediction.h"
#include "service/models.h"
#include "service/training_fields.h"
#include "workload/training_run.h"

namespace orrery::service {

struct RunPoint {
  std::string model;
  workload::TrainingRun run;
  hardware::Placement placement;
};

struct PredictedRun {
  RunPoint point;
  predict::Prediction prediction;
};

inline constexpr std::size_t kMostPoints = 10'000;

// What is asked about one or several models.
struct RunFields {
  std::vector<std::string> models;  // of the zoo, model files or job files
  TrainingFields training;
  GpuFields gpus;

  bool operator==(const RunFields&) const = default;
};

// models × devices × counts × batches × precisions, in that order. A job file has its own devices, counts and batch
// where the fields were not given. Fails above kMostPoints.
Result<std::vector<RunPoint>> expand_runs(env::Env env, const RunFields& fields, const FieldNames& names);
// The runs of one model that was loaded already, without that limit.
Result<std::vector<RunPoint>> runs_of(const NamedModel& model, const TrainingFields& training, const GpuFields& gpus,
                                      const FieldNames& names);

}  // namespace orrery::service
