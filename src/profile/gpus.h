#pragma once
// What the GPUs of this machine are doing, as their driver reports it.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace orrery::profile {

struct GpuReading {
  double busy = 0;         // share of the driver's last period (1/6 s to 1 s) in which a kernel ran
  double memory_busy = 0;  // share of it in which memory was read or written; not how full it is
  Bytes memory;            // occupied
};

// Used by one thread at a time.
class Gpus {
 public:
  virtual ~Gpus() = default;
  // One reading per device, in the driver's order.
  virtual Result<std::vector<GpuReading>> read() = 0;
};

// NVIDIA's management library, opened at run time. kUnsupported where it is not installed or finds no driver.
Result<std::unique_ptr<Gpus>> open_nvml(const std::string& library = "libnvidia-ml.so.1");

}  // namespace orrery::profile
