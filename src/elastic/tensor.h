#pragma once
// The operands of collectives: flat memory of one element type, and how elements are combined.
//
// Memory is borrowed and does not move until the operation on it has ended.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::elastic {

enum class DataType : std::uint8_t { kF16, kBf16, kF32, kF64, kI8, kI16, kI32, kI64 };
inline constexpr std::array<DataType, 8> kDataTypes = {DataType::kF16, DataType::kBf16, DataType::kF32, DataType::kF64,
                                                       DataType::kI8,  DataType::kI16,  DataType::kI32, DataType::kI64};

// Integers wrap around. Minimum and maximum of floats give NaN if any input is NaN.
enum class ReduceOp : std::uint8_t { kSum, kProduct, kMin, kMax };
inline constexpr std::array<ReduceOp, 4> kReduceOps = {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin,
                                                       ReduceOp::kMax};

constexpr std::size_t element_bytes(DataType type) {
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
std::string_view to_string(DataType type);
std::string_view to_string(ReduceOp op);

struct TensorView {
  void* data = nullptr;
  std::size_t count = 0;  // elements
  DataType type = DataType::kF32;

  std::size_t bytes() const { return count * element_bytes(type); }
};

struct ConstTensorView {
  const void* data = nullptr;
  std::size_t count = 0;  // elements
  DataType type = DataType::kF32;

  ConstTensorView() = default;
  ConstTensorView(const void* data_in, std::size_t count_in, DataType type_in)
      : data(data_in), count(count_in), type(type_in) {}
  ConstTensorView(const TensorView& view) : data(view.data), count(view.count), type(view.type) {}

  std::size_t bytes() const { return count * element_bytes(type); }
};

}  // namespace orrery::elastic
