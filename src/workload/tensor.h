#pragma once
// Shapes and element types. Every Shape is valid: every dimension is at least 1 and the number of elements is at most
// kMaxElements, so sizes never overflow. Shape::make is the only way to get one from untrusted numbers.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/result.h"

namespace orrery::workload {

enum class DataType { kFloat32, kFloat16, kBFloat16, kInt64, kInt32, kBool };

std::string_view to_string(DataType type);
bool is_floating(DataType type);
std::int64_t size_in_bytes(DataType type);

inline constexpr int kMaxRank = 8;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

class Shape {
 public:
  Shape() = default;  // a scalar
  // For shapes written in our own code; a bad dimension there is a programmer error.
  Shape(std::initializer_list<std::int64_t> dims);
  // Fails on rank above kMaxRank, a dimension below 1, or more than kMaxElements elements; the message names the
  // dimension.
  static Result<Shape> make(std::span<const std::int64_t> dims);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[axis < 0 ? axis + rank_ : axis]; }
  std::int64_t elements() const { return elements_; }
  std::span<const std::int64_t> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }
  // This shape with one dimension changed.
  Result<Shape> with(int axis, std::int64_t size) const;

  std::string to_string() const;  // [32, 3, 224, 224]
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
  std::int64_t elements_ = 1;
};

struct TensorType {
  Shape shape;
  DataType dtype = DataType::kFloat32;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// The shape two operands broadcast to under NumPy's rules.
Result<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace orrery::workload
