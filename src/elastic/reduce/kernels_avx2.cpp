// The kernels for processors with AVX2 and F16C; CMakeLists.txt adds the compiler's flags.
#define ORRERY_KERNEL_TABLE avx2
#include "elastic/reduce/kernels_body.h"
