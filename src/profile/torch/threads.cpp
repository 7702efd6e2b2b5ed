#include "profile/torch/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace orrery::profile {

void set_threads(int threads) {
  at::set_num_threads(threads);
  if (void* set_in_blas = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(set_in_blas)(threads);
  }
}

}  // namespace orrery::profile
