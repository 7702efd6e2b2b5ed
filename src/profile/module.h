#pragma once
// What the loaded module offers: two functions. The program and the module are built together, so C++ types may cross.

#include "profile/distributed/exchange.h"
#include "profile/executor.h"

namespace orrery::profile {

using MakeExecutor = Result<std::unique_ptr<Executor>> (*)(const workload::TrainingRun&, const ExecutorOptions&,
                                                           const env::Clock&);
inline constexpr const char* kMakeExecutorSymbol = "orrery_make_executor";

using MakeAllReduce = Result<std::unique_ptr<Exchange>> (*)(const AllReduceOptions&);
inline constexpr const char* kMakeAllReduceSymbol = "orrery_make_all_reduce";

}  // namespace orrery::profile
