#pragma once
// What one change would do to a run: another device, another number of devices, another batch, network or precision.

#include "predict/scaling/goodput.h"
#include "service/predict.h"

namespace orrery::service {

struct WhatifRequest {
  FieldNames names;
  RunFields runs;  // one model, one value of each field
  PredictorFields predictor;
  std::vector<std::string> to_device, to_network;
  std::vector<int> to_count, to_gpus_per_node;
  std::vector<std::int64_t> to_batch, to_batch_per_gpu;
  std::vector<std::optional<Precision>> to_precision;
  std::optional<double> noise_scale;  // of gradients, in samples

  bool operator==(const WhatifRequest&) const = default;
};
const Fields<WhatifRequest>& whatif_fields();

struct WhatifRow {
  std::string change;
  std::optional<PredictedRun> run{};  // no value: it cannot be run, and `note` says why
  std::string note{};
};

struct WhatifAnswer {
  std::vector<WhatifRow> rows;  // the first is the run as it is, and has a prediction
  double samples = 0;           // that every row trains on
  // What a sample of a row is worth, one of the first row being 1; nothing if the noise of gradients is not known.
  std::optional<predict::StatisticalEfficiency> efficiency;
};
Result<WhatifAnswer> whatif(env::Env env, const WhatifRequest& request);

}  // namespace orrery::service
