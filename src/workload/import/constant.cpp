#include "workload/import/constant.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace orrery::workload::import {

std::int64_t Constant::elements() const {
  return count_elements(dims).value_or(kMaxElements + 1);
}

std::int64_t Constant::integer(std::size_t index) const {
  constexpr double kLargest = 4611686018427387904.0;  // 2^62
  const double number = numbers[index];
  if (std::isnan(number)) return 0;
  return static_cast<std::int64_t>(std::clamp(number, -kLargest, kLargest));
}

std::vector<std::int64_t> Constant::integers() const {
  std::vector<std::int64_t> result(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) result[i] = integer(i);
  return result;
}

Constant integer_vector(std::vector<std::int64_t> numbers) {
  Constant c;
  c.dims = {static_cast<std::int64_t>(numbers.size())};
  c.dtype = DataType::kInt64;
  c.known = true;
  c.numbers.assign(numbers.begin(), numbers.end());
  return c;
}

Constant integer_scalar(std::int64_t number) {
  Constant c = integer_vector({number});
  c.dims.clear();
  return c;
}

Result<std::int64_t> count_elements(const std::vector<std::int64_t>& dims) {
  std::int64_t total = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return Error::invalid(fmt::format("a dimension is {}", dim));
    if (dim == 0) return std::int64_t{0};
  }
  for (const std::int64_t dim : dims) {
    if (dim > kMaxElements / total) return kMaxElements + 1;
    total *= dim;
  }
  return total;
}

Result<std::vector<std::int64_t>> broadcast_dims(const std::vector<std::int64_t>& a,
                                                 const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      return Error::invalid(fmt::format("[{}] and [{}] do not fit together", fmt::join(a, ", "), fmt::join(b, ", ")));
    }
    result[result.size() - 1 - i] = left == 1 ? right : left;
  }
  return result;
}

Result<int> normal_axis(std::int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  return Error::invalid(fmt::format("axis {} is out of range for rank {}", axis, rank));
}

Result<SliceRange> slice_range(std::int64_t begin, std::int64_t end, std::int64_t step, std::int64_t size) {
  constexpr std::int64_t kLongestStep = std::int64_t{1} << 48;
  if (step == 0) return Error::invalid("a slice has step 0");
  step = std::clamp(step, -kLongestStep, kLongestStep);
  const auto bound = [&](std::int64_t at, std::int64_t least, std::int64_t most) {
    if (at < 0) at = std::max(at, -kMaxElements * 2) + size;
    return std::clamp(at, least, most);
  };
  if (step > 0) {
    const std::int64_t first = bound(begin, 0, size), last = bound(end, 0, size);
    return SliceRange{first, last > first ? (last - first + step - 1) / step : 0, step};
  }
  const std::int64_t first = bound(begin, -1, size - 1), last = bound(end, -1, size - 1);
  return SliceRange{first, first > last ? (first - last - step - 1) / -step : 0, step};
}

Result<std::vector<std::int64_t>> reshape_dims(const std::vector<std::int64_t>& input, std::vector<std::int64_t> target,
                                               bool zero_is_zero) {
  ORRERY_TRY(const std::int64_t total, count_elements(input));
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !zero_is_zero) {
      if (i >= input.size()) {
        return Error::invalid(
            fmt::format("dimension {} of the new shape is to be copied from [{}]", i, fmt::join(input, ", ")));
      }
      target[i] = input[i];
    }
    if (target[i] != -1) continue;
    if (open >= 0) return Error::invalid("the new shape has two dimensions of -1");
    open = static_cast<std::ptrdiff_t>(i);
  }
  if (open >= 0) target[static_cast<std::size_t>(open)] = 1;
  ORRERY_TRY(const std::int64_t known, count_elements(target));
  if (open >= 0 && known > 0 && total % known == 0) target[static_cast<std::size_t>(open)] = total / known;
  ORRERY_TRY(const std::int64_t result, count_elements(target));
  if (result != total) {
    return Error::invalid(
        fmt::format("[{}] cannot be reshaped to [{}]", fmt::join(input, ", "), fmt::join(target, ", ")));
  }
  return target;
}

}  // namespace orrery::workload::import
