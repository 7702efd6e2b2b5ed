#pragma once
// The folder of measured operators of several GPUs: devices.csv and one table per class.

#include <string>
#include <vector>

#include "env/files.h"
#include "predict/operators/operator_work.h"

namespace orrery::predict {

// Reads one class of the folder.
Result<std::vector<OperatorMeasurement>> read_operators(env::Files& files, const std::string& folder,
                                                        OperatorClass operator_class);

// Every class of the folder, to be fitted.
Result<std::vector<OperatorWork>> read_operator_work(env::Files& files, const std::string& folder);

}  // namespace orrery::predict
