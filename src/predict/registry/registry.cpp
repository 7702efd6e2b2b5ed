#include "predict/registry/registry.h"

#include <fmt/format.h>

namespace orrery::predict {

Registry::Registry(std::span<const std::string_view> models) {
  for (const std::string_view bytes : models) {
    if (OperatorModel::is_one(bytes)) {
      operator_bytes_ = bytes;
    } else if (is_measured_model(bytes)) {
      entries_.push_back({.bytes = bytes});
    }
  }
}

Status Registry::read_device(Entry& entry) {
  if (entry.device) return {};
  ORRERY_TRY(entry.device, device_of_model(entry.bytes));
  return {};
}

Status Registry::read_model(Entry& entry) {
  if (entry.predictor) return {};
  ORRERY_TRY(MeasuredModel model, parse_measured_model(entry.bytes));
  entry.predictor.emplace(std::move(model));
  return {};
}

std::string Registry::known_devices() const {
  std::string names;
  for (const Entry& entry : entries_) names += fmt::format("{}{}", names.empty() ? "" : ", ", *entry.device);
  return names;
}

Status Registry::read_operators() const {
  if (operators_) return {};
  ORRERY_TRY(OperatorModel model, OperatorModel::parse(operator_bytes_));
  operators_.emplace(std::move(model));
  return {};
}

Result<const MeasuredPredictor*> Registry::best_of(const workload::TrainingRun& run,
                                                   const hardware::Placement& placement, std::string& refused) const {
  const MeasuredPredictor* best = nullptr;
  for (Entry& entry : entries_) {
    ORRERY_TRY_VOID(read_device(entry));
    if (hardware::find_device_or_null(*entry.device) != placement.device) continue;
    const Status fits = MeasuredPredictor::check(*entry.device, run, placement);
    if (!fits) {
      refused = fits.error().message();
      continue;
    }
    ORRERY_TRY_VOID(read_model(entry));
    if (best == nullptr || entry.predictor->model().error < best->model().error) best = &*entry.predictor;
  }
  return best;
}

Result<Prediction> Registry::predict(const workload::TrainingRun& run, const hardware::Placement& placement) const {
  std::string refused;
  ORRERY_TRY(const MeasuredPredictor* best, best_of(run, placement, refused));
  std::optional<Prediction> measured;
  if (best != nullptr) {
    ORRERY_TRY(measured, best->predict(run, placement));
    if (measured->in_domain) return *std::move(measured);
  }
  if (!operator_bytes_.empty() && OperatorPredictor::check(run, placement)) {
    ORRERY_TRY_VOID(read_operators());
    ORRERY_TRY(Prediction operators, operators_->predict(run, placement));
    const bool knows_more = !measured || operators.in_domain || operators.learned_share > measured->learned_share;
    if (knows_more) return operators;
  }
  if (measured) return *std::move(measured);
  ORRERY_TRY(Prediction prediction, AnalyticPredictor().predict(run, placement));
  if (!refused.empty()) {
    prediction.notes.push_back("by formulas: " + refused);
  } else if (!entries_.empty()) {
    prediction.notes.push_back(fmt::format("by formulas: no model of {} is at hand (there are models of {})",
                                           placement.device->name, known_devices()));
  }
  return prediction;
}

}  // namespace orrery::predict
