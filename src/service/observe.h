#pragma once
// Keeping the measured time of a run beside its prediction, so that later predictions can be corrected by it.

#include "base/table.h"
#include "predict/observe/observations.h"
#include "service/predict.h"
#include "service/steps.h"

namespace orrery::service {

struct ObserveRequest {
  FieldNames names;
  std::string file;        // where runs are recorded
  PredictRequest predict;  // of one run
  std::optional<Seconds> measured;
  std::string losses;  // CSV of step and loss, kept with the run; empty: none
  StepsFields question;
  std::uint64_t seed = 0;

  friend bool operator==(const ObserveRequest&, const ObserveRequest&) = default;
};
const Fields<ObserveRequest>& observe_fields();

struct ObserveAnswer {
  predict::Observation last;
  std::size_t runs = 0;  // of this device and predictor
  std::optional<predict::Correction> correction;
};
// Appends to the file.
Result<ObserveAnswer> observe(env::Env env, const ObserveRequest& request);

Table observe_table(const ObserveAnswer& answer);
// What the losses say; empty without losses.
std::string observe_text(const ObserveAnswer& answer);

}  // namespace orrery::service
