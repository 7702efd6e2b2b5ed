// Loads the module that runs graphs on libtorch; see executor.h.

#include <dlfcn.h>
#include <fmt/format.h>

#include "profile/executor.h"
#include "profile/module.h"

namespace orrery::profile {

namespace {

constexpr const char* kModule = "$ORIGIN/liborrery_torch.so";

// The module lies beside the program. It stays loaded until the program ends.
Result<MakeExecutor> load_module() {
  void* module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    return Error::unsupported(fmt::format("cannot load {}, which runs models: {}", kModule, dlerror()));
  }
  void* symbol = dlsym(module, kMakeExecutorSymbol);
  if (symbol == nullptr) return Error::internal(fmt::format("{} has no {}", kModule, kMakeExecutorSymbol));
  return reinterpret_cast<MakeExecutor>(symbol);
}

}  // namespace

Result<std::unique_ptr<Executor>> make_executor(const workload::TrainingRun& run, const ExecutorOptions& options,
                                                const env::Clock& clock) {
  ORRERY_TRY(const MakeExecutor make, load_module());
  return make(run, options, clock);
}

}  // namespace orrery::profile
