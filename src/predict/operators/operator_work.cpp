#include "predict/operators/operator_work.h"

#include <fmt/format.h>
#include <map>

namespace orrery::predict {

OperatorWorkBuilder::OperatorWorkBuilder(OperatorClass operator_class, const std::vector<ListedDevice>& devices) {
  work_.operator_class = operator_class;
  work_.features = Features(feature_names(operator_class));
  for (const ListedDevice& device : devices) work_.devices.push_back(device.facts);
}

Result<std::size_t> OperatorWorkBuilder::index_of(const std::string& name) const {
  for (std::size_t i = 0; i < work_.devices.size(); ++i) {
    if (work_.devices[i].name == name) return i;
  }
  return Error::invalid(fmt::format("devices.csv does not have the device \"{}\"", name));
}

Status OperatorWorkBuilder::add(const std::vector<OperatorMeasurement>& measurements, bool to_fit) {
  for (const OperatorMeasurement& measurement : measurements) {
    ORRERY_TRY(const std::size_t device, index_of(measurement.device));
    const std::size_t row = ask(device, measurement.shape);
    work_.rows[row].measured_ms = measurement.latency_ms;
    work_.rows[row].weight = to_fit ? 1 : 0;
    work_.rows[row].group = measurement.is_random_sweep ? "random" : "real";
    work_.is_random[row] = measurement.is_random_sweep ? 1 : 0;
    work_.measured[row] = measurement;
    if (to_fit) work_.fitted.insert(device);
  }
  return {};
}

std::size_t OperatorWorkBuilder::ask(std::size_t device, const OperatorShape& shape) {
  const PhysicalRow physical = physical_row(work_.operator_class, shape, work_.devices[device]);
  work_.features.add(physical.features);
  work_.rows.push_back({.device = device, .roof_ms = physical.roof_ms});
  work_.is_random.push_back(0);
  work_.measured.push_back({.device = work_.devices[device].name, .shape = shape});
  return work_.rows.size() - 1;
}

OperatorWork OperatorWorkBuilder::take() && {
  std::map<std::size_t, std::pair<double, double>> counts;
  for (std::size_t i = 0; i < work_.rows.size(); ++i) {
    if (!(work_.rows[i].weight > 0)) continue;
    auto& [random, real] = counts[work_.rows[i].device];
    (work_.is_random[i] != 0 ? random : real) += 1;
  }
  for (std::size_t i = 0; i < work_.rows.size(); ++i) {
    const auto& [random, real] = counts[work_.rows[i].device];
    if (work_.is_random[i] == 0 && random > 0 && work_.rows[i].weight > 0) work_.rows[i].weight = random / real;
  }
  return std::move(work_);
}

}  // namespace orrery::predict
