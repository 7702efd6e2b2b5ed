#pragma once
// What the loaded module offers: one function. The program and the module are built together, so C++ types may cross.

#include "profile/executor.h"

namespace orrery::profile {

using MakeExecutor = Result<std::unique_ptr<Executor>> (*)(const workload::TrainingRun&, const ExecutorOptions&,
                                                           const env::Clock&);
inline constexpr const char* kMakeExecutorSymbol = "orrery_make_executor";

}  // namespace orrery::profile
