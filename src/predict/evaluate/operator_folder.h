#pragma once
// The folder of measured operators, for the suites that predict operators or sums of them.

#include <string>
#include <vector>

#include "predict/evaluate/suites.h"
#include "predict/operators/operator_work.h"

namespace orrery::predict {

// devices.csv of the training folder, and of the test folder what is new there.
Result<std::vector<ListedDevice>> read_listed_devices(const SuiteInput& input, const std::string& train);

// Reads one class of the folder.
Result<std::vector<OperatorMeasurement>> read_operators(env::Files& files, const std::string& folder,
                                                        OperatorClass operator_class);

// Every class of the folder, to be fitted.
Result<std::vector<OperatorWork>> read_operator_work(env::Files& files, const std::string& folder);

}  // namespace orrery::predict
