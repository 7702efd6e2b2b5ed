#include "predict/operators/operator_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "predict/learn/sealed.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kKind{"orrery-operators", 2, "model of operators", "orrery fit FOLDER"};
constexpr std::string_view kRealModels = "real";  // the group of rows of real models' sizes

// The weakest class decides how far an iteration may be off.
Interval wider(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Status check_classes(std::size_t found) {
  if (found == kOperatorClasses.size()) return {};
  return Error::invalid(fmt::format("{} of {} classes of operators", found, kOperatorClasses.size()));
}

}  // namespace

Result<OperatorModel> OperatorModel::fit(std::vector<OperatorWork> classes, const EnsembleOptions& options,
                                         const std::function<void()>& progress) {
  OperatorModel model;
  std::set<std::string> devices;
  for (OperatorWork& work : classes) {
    for (DeviceFacts& device : work.devices) {
      const hardware::Device* known = hardware::find_device_or_null(device.name);
      if (known != nullptr) device.name = known->name;
    }
    for (const std::size_t device : work.fitted) devices.insert(work.devices[device].name);
    ORRERY_TRY(DeviceEnsemble ensemble,
               DeviceEnsemble::fit(std::move(work.devices), work.features, std::move(work.rows), options));
    ORRERY_TRY(const Conformal conformal, ensemble.calibrate_new());
    model.ratios_ = wider(model.ratios_, conformal.interval(1, kRealModels));
    model.classes_.emplace(work.operator_class, std::move(ensemble));
    if (progress) progress();
  }
  ORRERY_TRY_VOID(check_classes(model.classes_.size()));
  model.devices_.assign(devices.begin(), devices.end());
  return model;
}

EnsembleAnswer OperatorModel::answer(const GraphWork& work, const DeviceFacts& device,
                                     std::string_view excluded) const {
  const PhysicalRow row = physical_row(work.operator_class, work.shape, device);
  return classes_.at(work.operator_class).predict_new(device, row.features, row.roof_ms, 0, excluded);
}

double OperatorModel::time_ms(const GraphWork& work, const DeviceFacts& device, std::string_view excluded) const {
  return answer(work, device, excluded).time_ms;
}

bool OperatorModel::is_measured(std::string_view device) const {
  return std::find(devices_.begin(), devices_.end(), device) != devices_.end();
}

std::string OperatorModel::to_bytes() const {
  ByteWriter body;
  body.f64(ratios_.low);
  body.f64(ratios_.high);
  body.u32(static_cast<std::uint32_t>(devices_.size()));
  for (const std::string& device : devices_) body.text(device);
  body.u32(static_cast<std::uint32_t>(classes_.size()));
  for (const auto& [operator_class, ensemble] : classes_) {
    body.u8(static_cast<std::uint8_t>(operator_class));
    ensemble.write(body);
  }
  return seal(kKind, body.bytes());
}

Result<OperatorModel> OperatorModel::parse(std::string_view bytes) {
  constexpr std::size_t kDevicesMax = 1000, kNameMax = 256;
  ORRERY_TRY(const std::string_view body, unseal(kKind, bytes));
  ByteReader in(body);
  OperatorModel model;
  ORRERY_TRY(model.ratios_.low, in.f64());
  ORRERY_TRY(model.ratios_.high, in.f64());
  if (!(model.ratios_.low > 0 && model.ratios_.low <= model.ratios_.high) || !std::isfinite(model.ratios_.high)) {
    return Error::invalid("the interval is damaged");
  }
  ORRERY_TRY(const std::size_t devices, in.count(4, kDevicesMax));
  for (std::size_t i = 0; i < devices; ++i) {
    ORRERY_TRY(model.devices_.emplace_back(), in.text(kNameMax));
  }
  ORRERY_TRY(const std::size_t classes, in.count(1, kOperatorClasses.size()));
  for (std::size_t i = 0; i < classes; ++i) {
    ORRERY_TRY(const std::uint8_t number, in.u8());
    if (number >= kOperatorClasses.size()) return Error::invalid(fmt::format("no class of operators is {}", number));
    const OperatorClass operator_class = kOperatorClasses[number];
    ORRERY_TRY(DeviceEnsemble ensemble, DeviceEnsemble::read(in));
    if (ensemble.columns() != feature_names(operator_class).size()) {
      return Error::invalid(fmt::format("{} was learned from other features", to_string(operator_class)));
    }
    model.classes_.insert_or_assign(operator_class, std::move(ensemble));
  }
  ORRERY_TRY_VOID(check_classes(model.classes_.size()));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  return model;
}

bool OperatorModel::is_one(std::string_view bytes) {
  return bytes.starts_with(kKind.name);
}

}  // namespace orrery::predict
