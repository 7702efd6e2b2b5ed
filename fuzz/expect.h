#pragma once
// What a fuzz target says must hold, in every build.

#include <cstdlib>

namespace orrery {

inline void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace orrery
