#include <dlfcn.h>
#include <fmt/format.h>

#include "profile/gpus.h"

namespace orrery::profile {

namespace {

// The part of nvml.h that is used; its functions return 0 when they succeed.
struct NvmlUtilization {
  unsigned int gpu, memory;  // percent
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
using NvmlDevice = void*;

struct NvmlFunctions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned int*) = nullptr;
  int (*device)(unsigned int, NvmlDevice*) = nullptr;
  int (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
};

template <class Function>
Status find(void* library, const char* name, Function& function) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) return Error::unsupported(fmt::format("NVML has no {}", name));
  function = reinterpret_cast<Function>(symbol);
  return {};
}

Result<NvmlFunctions> find_functions(void* library) {
  NvmlFunctions nvml;
  ORRERY_TRY_VOID(find(library, "nvmlInit_v2", nvml.init));
  ORRERY_TRY_VOID(find(library, "nvmlShutdown", nvml.shutdown));
  ORRERY_TRY_VOID(find(library, "nvmlDeviceGetCount_v2", nvml.count));
  ORRERY_TRY_VOID(find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.device));
  ORRERY_TRY_VOID(find(library, "nvmlDeviceGetUtilizationRates", nvml.utilization));
  ORRERY_TRY_VOID(find(library, "nvmlDeviceGetMemoryInfo", nvml.memory));
  return nvml;
}

Status check(int code, const char* what) {
  if (code == 0) return {};
  return Error::unsupported(fmt::format("NVML cannot {} (code {})", what, code));
}

class Nvml final : public Gpus {
 public:
  Nvml(const NvmlFunctions& nvml, std::vector<NvmlDevice> devices) : nvml_(nvml), devices_(std::move(devices)) {}
  ~Nvml() override { nvml_.shutdown(); }

  Result<std::vector<GpuReading>> read() override {
    std::vector<GpuReading> readings;
    for (const NvmlDevice device : devices_) {
      NvmlUtilization use{};
      NvmlMemory memory{};
      ORRERY_TRY_VOID(check(nvml_.utilization(device, &use), "read the utilisation"));
      ORRERY_TRY_VOID(check(nvml_.memory(device, &memory), "read the memory"));
      readings.push_back({use.gpu / 100.0, use.memory / 100.0, Bytes(static_cast<double>(memory.used))});
    }
    return readings;
  }

 private:
  NvmlFunctions nvml_;
  std::vector<NvmlDevice> devices_;
};

Result<std::vector<NvmlDevice>> list_devices(const NvmlFunctions& nvml) {
  unsigned int count = 0;
  ORRERY_TRY_VOID(check(nvml.count(&count), "count the devices"));
  std::vector<NvmlDevice> devices(count);
  for (unsigned int i = 0; i < count; ++i) ORRERY_TRY_VOID(check(nvml.device(i, &devices[i]), "open a device"));
  return devices;
}

}  // namespace

// The library stays loaded until the program ends: its threads may not survive being unloaded.
Result<std::unique_ptr<Gpus>> open_nvml(const std::string& library) {
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return Error::unsupported(fmt::format("cannot load {}", library));
  ORRERY_TRY(const NvmlFunctions nvml, find_functions(opened));
  ORRERY_TRY_VOID(check(nvml.init(), "start; is the driver loaded?"));
  auto devices = list_devices(nvml);
  if (!devices) {
    nvml.shutdown();
    return std::move(devices).error();
  }
  return std::make_unique<Nvml>(nvml, std::move(*devices));
}

}  // namespace orrery::profile
