#pragma once
// What the loaded module offers: functions by name. The program and the module are built together, so C++ types may
// cross. Rooms behind this one that need libtorch put their functions into the same module.

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

// A function of the module, which lies beside the program and stays loaded until the program ends.
Result<void*> module_symbol(const char* name);

}  // namespace orrery::profile
