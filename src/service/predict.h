#pragma once
// Predicting runs: how long, how much memory, how many dollars.

#include "predict/prediction.h"
#include "service/predictors.h"
#include "service/runs.h"
#include "trace/execution_trace.h"

namespace orrery::service {

struct PredictRequest {
  FieldNames names;
  RunFields runs;
  PredictorFields predictor;
  std::string observed;  // file of runs that correct predictions; empty: none

  bool operator==(const PredictRequest&) const = default;
};
const Fields<PredictRequest>& predict_fields();

// One answer per combination of the lists, in their order.
Result<std::vector<PredictedRun>> predict(env::Env env, const PredictRequest& request);

// The timeline of one device as a trace: what it waits for is the gap of the operator before.
trace::ExecutionTrace predicted_trace(const PredictedRun& run);

// The models, training and GPUs of a request.
const Fields<RunFields>& run_fields();

}  // namespace orrery::service
