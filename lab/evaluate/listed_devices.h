#pragma once
// The devices of folders of measured operators, for the suites that predict operators or sums of them.

#include <string>
#include <vector>

#include "lab/evaluate/suites.h"
#include "lab/lab.h"
#include "predict/operators/operator_data.h"

namespace orrery::lab {

// devices.csv of the training folder, and of the test folder what is new there.
Result<std::vector<ListedDevice>> read_listed_devices(const SuiteInput& input, const std::string& train);

}  // namespace orrery::lab
