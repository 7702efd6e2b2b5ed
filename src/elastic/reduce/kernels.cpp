#include "elastic/reduce/kernels.h"

#include "base/check.h"

namespace orrery::elastic {

bool kernels::has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

void reduce(DataType type, ReduceOp op, std::span<const void* const> inputs, std::span<void* const> outputs,
            std::size_t count) {
  ORRERY_CHECK(!inputs.empty() && inputs.size() <= kReduceInputsMax && outputs.size() <= kReduceInputsMax);
  static const bool fast = kernels::has_avx2();
  const kernels::Kernel kernel = fast ? kernels::avx2(type, op) : kernels::portable(type, op);
  kernel(inputs.data(), inputs.size(), outputs.data(), outputs.size(), count);
}

}  // namespace orrery::elastic
