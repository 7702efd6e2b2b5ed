#include "elastic/tensor.h"

namespace orrery::elastic {

std::string_view to_string(DataType type) {
  constexpr std::string_view kNames[] = {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(ReduceOp op) {
  constexpr std::string_view kNames[] = {"sum", "product", "min", "max"};
  return kNames[static_cast<std::size_t>(op)];
}

}  // namespace orrery::elastic
