#pragma once
// Work that is cut into independent pieces.

#include <cstddef>
#include <functional>

namespace orrery {

// Calls work(0 … count−1), each once, on up to `threads` threads; returns when all are done. Which thread does which
// piece is not determined: a piece must not depend on it.
void run_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace orrery
