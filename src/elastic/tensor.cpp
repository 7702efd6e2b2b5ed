#include "elastic/tensor.h"

namespace orrery::elastic {

std::size_t element_bytes(DataType type) {
  switch (type) {
    case DataType::kI8:
      return 1;
    case DataType::kF16:
    case DataType::kBf16:
    case DataType::kI16:
      return 2;
    case DataType::kF32:
    case DataType::kI32:
      return 4;
    case DataType::kF64:
    case DataType::kI64:
      return 8;
  }
  return 1;
}

std::string_view to_string(DataType type) {
  constexpr std::string_view kNames[] = {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(ReduceOp op) {
  constexpr std::string_view kNames[] = {"sum", "product", "min", "max"};
  return kNames[static_cast<std::size_t>(op)];
}

}  // namespace orrery::elastic
