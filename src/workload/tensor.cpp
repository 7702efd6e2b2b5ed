#include "workload/tensor.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"

namespace orrery::workload {

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat16:
      return "float16";
    case DataType::kBFloat16:
      return "bfloat16";
    case DataType::kInt64:
      return "int64";
    case DataType::kInt32:
      return "int32";
    case DataType::kBool:
      return "bool";
  }
  return "float32";
}

bool is_floating(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

std::int64_t size_in_bytes(DataType type) {
  switch (type) {
    case DataType::kInt64:
      return 8;
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kBool:
      return 1;
  }
  return 4;
}

Shape::Shape(std::initializer_list<std::int64_t> dims) {
  auto made = make(std::span(dims.begin(), dims.size()));
  ORRERY_CHECK(made.has_value());
  *this = *made;
}

Result<Shape> Shape::make(std::span<const std::int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return Error::invalid(fmt::format("rank {} is above the limit of {}", dims.size(), kMaxRank));
  }
  Shape shape;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1) {
      return Error::invalid(
          fmt::format("dimension {} of [{}] is {}; expected at least 1", i, fmt::join(dims, ", "), dims[i]));
    }
    if (dims[i] > kMaxElements / shape.elements_) {
      return Error::invalid(
          fmt::format("dimension {} of [{}] makes the tensor larger than 2^48 elements", i, fmt::join(dims, ", ")));
    }
    shape.elements_ *= dims[i];
    shape.dims_[i] = dims[i];
  }
  shape.rank_ = static_cast<int>(dims.size());
  return shape;
}

Result<Shape> Shape::with(int axis, std::int64_t size) const {
  std::array<std::int64_t, kMaxRank> dims = dims_;
  dims[axis < 0 ? axis + rank_ : axis] = size;
  return make({dims.data(), static_cast<std::size_t>(rank_)});
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(dims(), ", "));
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, kMaxRank> dims{};
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t left = i <= a.rank() ? a[-i] : 1;
    const std::int64_t right = i <= b.rank() ? b[-i] : 1;
    if (left != right && left != 1 && right != 1) {
      return Error::invalid(fmt::format("shapes {} and {} do not match in dimension {} from the end ({} and {})",
                                        a.to_string(), b.to_string(), i, left, right));
    }
    dims[rank - i] = std::max(left, right);
  }
  return Shape::make({dims.data(), static_cast<std::size_t>(rank)});
}

}  // namespace orrery::workload
