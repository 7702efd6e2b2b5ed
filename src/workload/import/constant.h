#pragma once
// Tensors whose content does not depend on the data: initializers, and what a file computes from them and from shapes.
//
// Numbers are known for small tensors only (kMostNumbers); of the others only the shape is known. That is enough,
// because shapes depend on small integer tensors, and only the shapes of weights matter.

#include <cstdint>
#include <optional>
#include <vector>

#include "workload/tensor.h"

namespace orrery::workload::import {

inline constexpr std::size_t kMostNumbers = 1024;

struct Constant {
  std::vector<std::int64_t> dims;  // a dimension may be 0
  DataType dtype = DataType::kFloat32;
  bool known = false;           // whether `numbers` has the content
  std::vector<double> numbers;  // row by row; integers beyond 2^53 are rounded
  bool learned = false;         // descends from floating-point initializers
  std::int32_t source = -1;     // the one initializer it descends from; -1: none, -2: several

  std::int64_t elements() const;  // at most kMaxElements + 1
  bool integral() const { return !is_floating(dtype); }
  // The numbers as integers, clamped to ±2^62.
  std::vector<std::int64_t> integers() const;
  std::int64_t integer(std::size_t index) const;
};

// A vector of integers, of which the content is known.
Constant integer_vector(std::vector<std::int64_t> numbers);
Constant integer_scalar(std::int64_t number);

// Elements of these dimensions, at most kMaxElements + 1. Fails on a negative one.
Result<std::int64_t> count_elements(const std::vector<std::int64_t>& dims);

// As broadcast() of shapes, with dimensions of 0.
Result<std::vector<std::int64_t>> broadcast_dims(const std::vector<std::int64_t>& a,
                                                 const std::vector<std::int64_t>& b);

// axis, or axis + rank if it is negative.
Result<int> normal_axis(std::int64_t axis, int rank);

// Where one slice begins and how many elements it has, by ONNX's rules for negative and too large numbers.
struct SliceRange {
  std::int64_t begin = 0, count = 0, step = 1;
};
Result<SliceRange> slice_range(std::int64_t begin, std::int64_t end, std::int64_t step, std::int64_t size);

// The dimensions of a Reshape, with -1 and 0 in the target replaced.
Result<std::vector<std::int64_t>> reshape_dims(const std::vector<std::int64_t>& input, std::vector<std::int64_t> target,
                                               bool zero_is_zero);

}  // namespace orrery::workload::import
