#pragma once
// Whether a training fits in memory: memory by part, and the largest batch that fits.

#include "predict/prediction.h"
#include "service/runs.h"

namespace orrery::service {

struct MemoryRequest {
  FieldNames names;
  RunFields runs;

  bool operator==(const MemoryRequest&) const = default;
};
const Fields<MemoryRequest>& memory_fields();

struct MemoryAnswer {
  RunPoint point;
  predict::Prediction prediction;
  std::int64_t largest_batch_per_gpu = 0;  // 0: not even one sample fits
};
Result<std::vector<MemoryAnswer>> predict_memory(env::Env env, const MemoryRequest& request);

}  // namespace orrery::service
