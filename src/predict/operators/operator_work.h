#pragma once
// Measured operators of one class as rows of work that a DeviceEnsemble learns from.

#include <set>
#include <string>
#include <vector>

#include "predict/operators/device_ensemble.h"
#include "predict/operators/operator_data.h"

namespace orrery::predict {

// Rows of one class of operators on devices.
struct OperatorWork {
  OperatorClass operator_class = OperatorClass::kLinear;
  std::vector<DeviceFacts> devices;
  Features features{{}};
  std::vector<WorkRow> rows;
  std::vector<char> is_random;                // by row: sizes of a random sweep
  std::vector<OperatorMeasurement> measured;  // by row; without a time where only asked for
  std::set<std::size_t> fitted;               // devices that have rows to fit
};

class OperatorWorkBuilder {
 public:
  OperatorWorkBuilder(OperatorClass operator_class, const std::vector<ListedDevice>& devices);

  // Measured rows; to be fitted or only to be predicted.
  Status add(const std::vector<OperatorMeasurement>& measurements, bool to_fit);
  // One operator to be predicted; returns its row.
  std::size_t ask(std::size_t device, const OperatorShape& shape);

  // On each device the sizes of real models, which are few, weigh as much as the random ones.
  OperatorWork take() &&;

 private:
  Result<std::size_t> index_of(const std::string& name) const;

  OperatorWork work_;
};

}  // namespace orrery::predict
