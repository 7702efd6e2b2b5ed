#pragma once
// The arithmetic a training run uses for its matrix products.

#include <string_view>

namespace orrery {

enum class Precision { kFp32, kTf32, kFp16, kBf16 };

constexpr std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
      return "bf16";
  }
  return "fp32";
}

}  // namespace orrery
