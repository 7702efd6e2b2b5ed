// The part of NVIDIA's management library that is used, with two devices: the second one is idle.

namespace {

struct Utilization {
  unsigned int gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};

int devices[2];
bool is_idle(void* device) {
  return device == &devices[1];
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* use) {
  *use = is_idle(device) ? Utilization{0, 0} : Utilization{98, 54};
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  *memory = is_idle(device) ? Memory{1000, 1000, 0} : Memory{1000, 400, 600};
  return 0;
}

}  // extern "C"
