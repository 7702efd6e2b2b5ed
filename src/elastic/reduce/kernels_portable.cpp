// The kernels for any processor.
#define ORRERY_KERNEL_TABLE portable
#include "elastic/reduce/kernels_body.h"
