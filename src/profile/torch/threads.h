#pragma once
// How many threads libtorch and the BLAS under it use inside one operator.

namespace orrery::profile {

// For the calling thread. libtorch does not pass its number on to OpenBLAS, whose threads would then spin against ours.
void set_threads(int threads);

}  // namespace orrery::profile
