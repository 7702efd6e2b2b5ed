#include "elastic/host/backoff.h"

#include <algorithm>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace orrery::elastic {

Backoff::Backoff(int ranks, int cores) : spins_(ranks <= cores ? 2000 : 0), yields_(ranks <= cores ? 20 : 200) {}

int available_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

void Backoff::spend(std::uint32_t looks) const {
  if (looks >= spins_) {
    ::sched_yield();
    return;
  }
#if defined(__x86_64__)
  _mm_pause();  // tells the processor that this is a spin loop
#endif
}

}  // namespace orrery::elastic
