#pragma once
// ORRERY_CHECK stays on in release builds. It guards against our own mistakes, never against input.

namespace orrery {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace orrery

#define ORRERY_CHECK(condition)                                               \
  do {                                                                        \
    if (!(condition)) ::orrery::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
