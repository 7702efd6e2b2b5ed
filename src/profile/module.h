#pragma once
// What the loaded library offers: functions by name. The program and the library are built together, so C++ types may
// cross. Later modules of `src` that need libtorch put their functions into the same library.

#include "profile/distributed/exchange.h"
#include "profile/executor.h"
#include "profile/speed_probe.h"

namespace orrery::profile {

using MakeExecutor = Result<std::unique_ptr<Executor>> (*)(const workload::TrainingRun&, const ExecutorOptions&,
                                                           const env::Clock&);
inline constexpr const char* kMakeExecutorSymbol = "orrery_make_executor";

using MakeAllReduce = Result<std::unique_ptr<Exchange>> (*)(const AllReduceOptions&);
inline constexpr const char* kMakeAllReduceSymbol = "orrery_make_all_reduce";

using MakeSpeedProbe = Result<std::unique_ptr<SpeedProbe>> (*)(const env::Clock&);
inline constexpr const char* kMakeSpeedProbeSymbol = "orrery_make_speed_probe";

// A function of the library, which is beside the program and stays loaded until the program ends.
Result<void*> module_symbol(const char* name);

}  // namespace orrery::profile
