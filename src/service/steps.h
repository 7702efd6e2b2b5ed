#pragma once
// How many steps a training needs, from the losses so far, by Optimus's curve.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"
#include "predict/scaling/loss_file.h"
#include "predict/scaling/steps_estimate.h"

namespace orrery::service {

// When a training is done.
struct StepsFields {
  std::optional<double> target;  // nothing: when it has converged
  double threshold = 0;
  std::optional<double> window;  // nothing: ten times the distance between two losses

  friend bool operator==(const StepsFields&, const StepsFields&) = default;
};
const Fields<StepsFields>& steps_fields();
predict::StepsQuestion steps_question(const predict::LossFile& losses, const StepsFields& fields);

struct StepsRequest {
  FieldNames names;
  std::string losses;  // CSV of step and loss
  StepsFields question;
  std::optional<double> steps_per_epoch;
  std::uint64_t seed = 0;

  friend bool operator==(const StepsRequest&, const StepsRequest&) = default;
};
const Fields<StepsRequest>& estimate_steps_fields();

struct StepsAnswer {
  predict::LossFile losses;
  predict::StepsQuestion question;
  predict::StepsEstimate estimate;
  std::optional<double> steps_per_epoch;
  std::uint64_t seed = 0;
};
Result<StepsAnswer> estimate_steps(env::Env env, const StepsRequest& request);

Table steps_table(const StepsAnswer& answer);
std::string steps_text(const StepsAnswer& answer);
// SVG: the losses and the curve.
std::string steps_plot(const StepsAnswer& answer);

}  // namespace orrery::service
