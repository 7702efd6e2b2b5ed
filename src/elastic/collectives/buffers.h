#pragma once
// The caller's memory of one operation, and what all algorithms need to know about it.

#include <cstddef>

#include "elastic/collectives/descriptor.h"

namespace orrery::elastic {

struct Buffers {
  const std::byte* input = nullptr;  // this rank's tensor
  std::byte* output = nullptr;       // the same memory where the result overwrites the tensor
};

// Points at which a test may stop a rank for good.
enum class CutPoint { kAnnounced, kStaged, kCombined, kPublished, kTook, kDirectHalf, kDone };
inline constexpr int kCutPoints = 7;

}  // namespace orrery::elastic
