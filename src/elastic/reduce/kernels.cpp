#include "elastic/reduce/kernels.h"

#include "base/check.h"

namespace orrery::elastic {

// Every processor with AVX2 also converts 16-bit floats (F16C).
bool kernels::has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

void reduce(DataType type, ReduceOp op, std::span<const void* const> inputs, std::span<void* const> outputs,
            std::size_t count) {
  ORRERY_CHECK(!inputs.empty() && inputs.size() <= kReduceInputsMax && outputs.size() <= kReduceInputsMax);
  static const bool kFast = kernels::has_avx2();
  const kernels::Kernel kernel = kFast ? kernels::avx2(type, op) : kernels::portable(type, op);
  kernel(inputs.data(), inputs.size(), outputs.data(), outputs.size(), count);
}

void copy(void* to, const void* from, std::size_t bytes) {
  reduce(DataType::kI8, ReduceOp::kSum, {&from, 1}, {&to, 1}, bytes);  // of one input
}

}  // namespace orrery::elastic
