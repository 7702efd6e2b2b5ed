// Loads the module that runs graphs on libtorch; see executor.h.

#include <dlfcn.h>
#include <fmt/format.h>

#include "profile/executor.h"
#include "profile/module.h"

namespace orrery::profile {

namespace {

constexpr const char* kModule = "$ORIGIN/liborrery_torch.so";

template <class Function>
Result<Function> load(const char* name) {
  ORRERY_TRY(void* const symbol, module_symbol(name));
  return reinterpret_cast<Function>(symbol);
}

}  // namespace

Result<void*> module_symbol(const char* name) {
  void* module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    const std::string why = dlerror();
    const char* advice = why.find("libtorch") != why.npos ? "; install libtorch1.13 and libgloo0" : "";
    return Error::unsupported(fmt::format("cannot load {}, which runs models: {}{}", kModule, why, advice));
  }
  void* symbol = dlsym(module, name);
  if (symbol == nullptr) return Error::internal(fmt::format("{} has no {}", kModule, name));
  return symbol;
}

Result<std::unique_ptr<Executor>> make_executor(const workload::TrainingRun& run, const ExecutorOptions& options,
                                                const env::Clock& clock) {
  ORRERY_TRY(const auto make, load<MakeExecutor>(kMakeExecutorSymbol));
  return make(run, options, clock);
}

Result<std::unique_ptr<Exchange>> make_all_reduce(const AllReduceOptions& options) {
  ORRERY_TRY(const auto make, load<MakeAllReduce>(kMakeAllReduceSymbol));
  return make(options);
}

Result<std::unique_ptr<SpeedProbe>> make_speed_probe(const env::Clock& clock) {
  ORRERY_TRY(const auto make, load<MakeSpeedProbe>(kMakeSpeedProbeSymbol));
  return make(clock);
}

}  // namespace orrery::profile
