#include "workload/import/graphdef/fold.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>
#include <unordered_map>

namespace orrery::workload::import {

namespace {

using Dims = std::vector<std::int64_t>;
using Inputs = std::span<const Constant* const>;
using Folded = Result<std::optional<Constant>>;
using Rule = Folded (*)(const GraphDefNode&, Inputs);

// What is folded: only what graphs use to compute shapes, which is small vectors and numbers. A rule may decline in two
// ways: nullopt means that there is no constant (the translator then treats the node as an operator or reports it), a
// constant without numbers means that only its shape is known. Both are sound, because a consumer that needs the
// numbers checks `known`; a wrong number would silently give a wrong graph, so rules cover only the cases that they
// compute exactly. Numbers are doubles, exact for integers up to 2^53.
//
// Limits: no result has more than kGraphDefNumbersMax numbers, so a hostile file cannot make folding allocate more than
// that per node. There is no recursion: the translator folds nodes in an order in which inputs come first.
Constant with_numbers(Dims dims, DataType dtype, std::vector<double> numbers) {
  Constant c;
  c.dims = std::move(dims);
  c.dtype = dtype;
  c.known = true;
  c.numbers = std::move(numbers);
  return c;
}

Constant unknown(Dims dims, DataType dtype) {
  Constant c;
  c.dims = std::move(dims);
  c.dtype = dtype;
  return c;
}

Folded fold_same(const GraphDefNode&, Inputs inputs) {
  return *inputs[0];
}

Folded fold_cast(const GraphDefNode& node, Inputs inputs) {
  Constant c = *inputs[0];
  c.dtype = element_type_of(node.type("DstT")).value_or(c.dtype);
  if (c.integral()) {
    for (double& number : c.numbers) number = std::trunc(number);
  }
  return c;
}

// Joins inputs of equal shape along a new first axis.
Folded fold_pack(const GraphDefNode& node, Inputs inputs) {
  if (node.integer("axis", 0) != 0) return std::nullopt;
  std::vector<double> numbers;
  bool known = true;
  for (const Constant* c : inputs) {
    known = known && c->known && c->dims == inputs[0]->dims;
    numbers.insert(numbers.end(), c->numbers.begin(), c->numbers.end());
  }
  Dims dims = inputs[0]->dims;
  dims.insert(dims.begin(), static_cast<std::int64_t>(inputs.size()));
  if (!known || numbers.size() > kGraphDefNumbersMax) return unknown(std::move(dims), inputs[0]->dtype);
  return with_numbers(std::move(dims), inputs[0]->dtype, std::move(numbers));
}

// Vectors only; the last input is the axis.
Folded fold_concat(const GraphDefNode&, Inputs inputs) {
  std::vector<double> numbers;
  for (const Constant* c : inputs.first(inputs.size() - 1)) {
    if (!c->known || c->dims.size() != 1) return std::nullopt;
    numbers.insert(numbers.end(), c->numbers.begin(), c->numbers.end());
  }
  if (numbers.size() > kGraphDefNumbersMax) return std::nullopt;
  Dims dims = {static_cast<std::int64_t>(numbers.size())};
  return with_numbers(std::move(dims), inputs[0]->dtype, std::move(numbers));
}

Folded fold_strided_slice(const GraphDefNode& node, Inputs inputs) {
  if (inputs.size() != 4 || inputs[0]->dims.size() != 1 || !inputs[0]->known) return std::nullopt;
  ORRERY_TRY(const StridedRanges slice, strided_ranges(node, inputs, inputs[0]->dims));
  std::vector<double> numbers;
  const SliceRange& r = slice.ranges[0];
  for (std::int64_t i = 0; i < r.count; ++i) {
    numbers.push_back(inputs[0]->numbers[static_cast<std::size_t>(r.begin + i * r.step)]);
  }
  Dims dims;
  for (const int axis : slice.result_axes) dims.push_back(axis == kNewAxis ? 1 : r.count);
  return with_numbers(std::move(dims), inputs[0]->dtype, std::move(numbers));
}

// Of a vector.
Folded fold_slice(const GraphDefNode&, Inputs inputs) {
  const bool fits = inputs.size() == 3 && inputs[0]->dims.size() == 1 && inputs[0]->known && inputs[1]->known &&
                    inputs[2]->known && inputs[1]->numbers.size() == 1 && inputs[2]->numbers.size() == 1;
  if (!fits) return std::nullopt;
  const auto size = static_cast<std::int64_t>(inputs[0]->numbers.size());
  const std::int64_t begin = std::clamp<std::int64_t>(inputs[1]->integer(0), 0, size);
  const std::int64_t wanted = inputs[2]->integer(0);
  const std::int64_t count = wanted < 0 ? size - begin : std::min(wanted, size - begin);
  const auto first = inputs[0]->numbers.begin() + begin;
  return with_numbers({count}, inputs[0]->dtype, std::vector<double>(first, first + count));
}

Folded fold_gather(const GraphDefNode&, Inputs inputs) {
  if (inputs.size() < 2 || inputs[0]->dims.size() != 1 || !inputs[0]->known || !inputs[1]->known) return std::nullopt;
  std::vector<double> numbers;
  for (const std::int64_t at : inputs[1]->integers()) {
    if (at < 0 || at >= inputs[0]->dims[0]) return Error::invalid(fmt::format("index {} is outside", at));
    numbers.push_back(inputs[0]->numbers[static_cast<std::size_t>(at)]);
  }
  return with_numbers(inputs[1]->dims, inputs[0]->dtype, std::move(numbers));
}

Folded fold_product(const GraphDefNode& node, Inputs inputs) {
  if (!inputs[0]->known || inputs[0]->dims.size() > 1) return std::nullopt;
  const double total = std::accumulate(inputs[0]->numbers.begin(), inputs[0]->numbers.end(), 1.0, std::multiplies<>());
  Dims dims;
  if (node.flag("keep_dims")) dims.assign(inputs[0]->dims.size(), 1);
  return with_numbers(std::move(dims), inputs[0]->dtype, {total});
}

Folded fold_reshape(const GraphDefNode&, Inputs inputs) {
  if (inputs.size() < 2 || !inputs[1]->known) return std::nullopt;
  Constant c = *inputs[0];
  ORRERY_TRY(c.dims, reshape_dims(c.dims, inputs[1]->integers(), true));
  return c;
}

Folded fold_expand_dims(const GraphDefNode&, Inputs inputs) {
  if (inputs.size() < 2 || !inputs[1]->known || inputs[1]->numbers.size() != 1) return std::nullopt;
  Constant c = *inputs[0];
  ORRERY_TRY(const int axis, normal_axis(inputs[1]->integer(0), static_cast<int>(c.dims.size()) + 1));
  c.dims.insert(c.dims.begin() + axis, 1);
  return c;
}

Folded fold_squeeze(const GraphDefNode& node, Inputs inputs) {
  if (!node.integers("squeeze_dims").empty()) return std::nullopt;
  Constant c = *inputs[0];
  std::erase(c.dims, 1);
  return c;
}

Folded fold_fill(const GraphDefNode&, Inputs inputs) {
  if (inputs.size() != 2 || !inputs[0]->known) return std::nullopt;
  Dims dims = inputs[0]->integers();
  ORRERY_TRY(const std::int64_t elements, count_elements(dims));
  if (inputs[1]->numbers.size() != 1 || elements > static_cast<std::int64_t>(kGraphDefNumbersMax)) {
    return unknown(std::move(dims), inputs[1]->dtype);
  }
  std::vector<double> numbers(static_cast<std::size_t>(elements), inputs[1]->numbers[0]);
  return with_numbers(std::move(dims), inputs[1]->dtype, std::move(numbers));
}

Folded fold_range(const GraphDefNode&, Inputs inputs) {
  if (inputs.size() != 3) return std::nullopt;
  for (const Constant* c : inputs) {
    if (!c->known || c->numbers.size() != 1) return std::nullopt;
  }
  const double begin = inputs[0]->numbers[0], end = inputs[1]->numbers[0], step = inputs[2]->numbers[0];
  const double count = std::ceil((end - begin) / step);
  if (!(count >= 0 && count <= static_cast<double>(kGraphDefNumbersMax))) return std::nullopt;
  std::vector<double> numbers;
  for (int i = 0; i < static_cast<int>(count); ++i) numbers.push_back(begin + i * step);
  Dims dims = {static_cast<std::int64_t>(numbers.size())};
  return with_numbers(std::move(dims), inputs[0]->dtype, std::move(numbers));
}

double compute(std::string_view op, double a, double b, bool integral) {
  if (op == "Add" || op == "AddV2") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Maximum") return std::max(a, b);
  if (op == "Minimum") return std::min(a, b);
  if (op == "FloorMod") return a - b * std::floor(a / b);
  if (op == "FloorDiv") return std::floor(a / b);
  return integral ? std::trunc(a / b) : a / b;
}

// A number with a number or a vector, or two of equal shape; any other broadcast gives the shape only.
Folded fold_arithmetic(const GraphDefNode& node, Inputs inputs) {
  if (inputs.size() != 2) return Error::invalid(fmt::format("expected 2 inputs, got {}", inputs.size()));
  const Constant &a = *inputs[0], &b = *inputs[1];
  ORRERY_TRY(Dims dims, broadcast_dims(a.dims, b.dims));
  const bool simple = a.known && b.known && (a.dims == b.dims || a.numbers.size() == 1 || b.numbers.size() == 1);
  if (!simple) return unknown(std::move(dims), a.dtype);
  std::vector<double> numbers(std::max(a.numbers.size(), b.numbers.size()));
  if (a.numbers.empty() || b.numbers.empty()) numbers.clear();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double left = a.numbers[a.numbers.size() == 1 ? 0 : i], right = b.numbers[b.numbers.size() == 1 ? 0 : i];
    numbers[i] = compute(node.op, left, right, a.integral());
  }
  return with_numbers(std::move(dims), a.dtype, std::move(numbers));
}

const std::unordered_map<std::string_view, Rule>& all_rules() {
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"Identity", fold_same},
      {"StopGradient", fold_same},
      {"PlaceholderWithDefault", fold_same},
      {"Cast", fold_cast},
      {"Pack", fold_pack},
      {"ConcatV2", fold_concat},
      {"StridedSlice", fold_strided_slice},
      {"Slice", fold_slice},
      {"GatherV2", fold_gather},
      {"Gather", fold_gather},
      {"Prod", fold_product},
      {"Reshape", fold_reshape},
      {"ExpandDims", fold_expand_dims},
      {"Squeeze", fold_squeeze},
      {"Fill", fold_fill},
      {"Range", fold_range},
      {"Add", fold_arithmetic},
      {"AddV2", fold_arithmetic},
      {"Sub", fold_arithmetic},
      {"Mul", fold_arithmetic},
      {"RealDiv", fold_arithmetic},
      {"Div", fold_arithmetic},
      {"FloorDiv", fold_arithmetic},
      {"FloorMod", fold_arithmetic},
      {"Maximum", fold_arithmetic},
      {"Minimum", fold_arithmetic},
  };
  return kRules;
}

bool has_bit(std::int64_t mask, std::size_t bit) {
  return bit < 63 && (mask >> bit & 1) != 0;
}

}  // namespace

Folded fold_graphdef(const GraphDefNode& node, Inputs inputs) {
  const auto rule = all_rules().find(node.op);
  if (rule == all_rules().end() || inputs.empty()) return std::nullopt;
  return rule->second(node, inputs);
}

Result<Constant> constant_of(const GraphDefTensor& tensor) {
  const auto dtype = element_type_of(tensor.dtype);
  if (!dtype) return Error::unsupported(fmt::format("a constant of type {} cannot be read", tensor.dtype));
  if (!tensor.shape) return Error::invalid("a constant without a shape");
  ORRERY_TRY(const std::int64_t elements, count_elements(*tensor.shape));
  if (elements > kMaxElements) return Error::invalid("a constant of more than 2^48 elements");
  Constant c = unknown(*tensor.shape, *dtype);
  c.numbers = tensor.numbers;
  c.known = elements == 0 || !c.numbers.empty();
  return c;
}

std::optional<DataType> element_type_of(int type) {
  if (type > 100) type -= 100;
  switch (type) {
    case kGraphDefFloat:
    case kGraphDefDouble:
      return DataType::kFloat32;
    case kGraphDefHalf:
      return DataType::kFloat16;
    case kGraphDefBfloat16:
      return DataType::kBFloat16;
    case kGraphDefInt64:
    case 23:
      return DataType::kInt64;
    case kGraphDefBool:
      return DataType::kBool;
    case kGraphDefInt32:
    case 4:
    case 5:
    case 6:
    case 17:
    case 22:
      return DataType::kInt32;
    default:
      return std::nullopt;
  }
}

// The masks of a StridedSlice. `given` counts the ranges that use a dimension of the input; the dimensions that the
// first ellipsis, or the end, leaves over are kept whole. kFar is beyond every size, and slice_range() clamps it. A
// shrunk axis has one element and is left out of the result; index -1 would end at 0, hence kFar.
Result<StridedRanges> strided_ranges(const GraphDefNode& node, Inputs inputs, std::span<const std::int64_t> dims) {
  const auto known = [&](std::size_t i) { return i < inputs.size() && inputs[i] != nullptr && inputs[i]->known; };
  if (!known(1) || !known(2) || !known(3))
    return Error::unsupported("begin, end or strides are not known when reading");
  const Dims begin = inputs[1]->integers(), end = inputs[2]->integers(), step = inputs[3]->integers();
  if (begin.size() != end.size() || begin.size() != step.size()) return Error::invalid("begin and end do not fit");
  const std::int64_t begin_mask = node.integer("begin_mask", 0), end_mask = node.integer("end_mask", 0);
  const std::int64_t new_mask = node.integer("new_axis_mask", 0), shrink_mask = node.integer("shrink_axis_mask", 0);
  const std::int64_t ellipsis = node.integer("ellipsis_mask", 0);
  std::size_t given = 0;
  for (std::size_t i = 0; i < begin.size(); ++i) given += has_bit(new_mask, i) || has_bit(ellipsis, i) ? 0 : 1;
  if (given > dims.size()) return Error::invalid(fmt::format("{} ranges for {} dimensions", given, dims.size()));
  StridedRanges result;
  const auto keep_all = [&](std::size_t count) {
    for (; count > 0; --count) {
      result.result_axes.push_back(static_cast<int>(result.ranges.size()));
      result.ranges.push_back({0, dims[result.ranges.size()], 1});
    }
  };
  bool had_ellipsis = false;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (has_bit(ellipsis, i)) {
      if (!had_ellipsis) keep_all(dims.size() - given);
      had_ellipsis = true;
      continue;
    }
    if (has_bit(new_mask, i)) {
      result.result_axes.push_back(kNewAxis);
      continue;
    }
    const std::int64_t size = dims[result.ranges.size()];
    constexpr std::int64_t kFar = std::int64_t{1} << 60;
    const bool backward = step[i] < 0, shrinks = has_bit(shrink_mask, i);
    std::int64_t from = has_bit(begin_mask, i) ? (backward ? kFar : 0) : begin[i];
    std::int64_t to = has_bit(end_mask, i) ? (backward ? -kFar : kFar) : end[i];
    if (shrinks) to = from == -1 ? kFar : from + 1;
    ORRERY_TRY(const SliceRange range, slice_range(from, to, shrinks ? 1 : step[i], size));
    if (range.count < 1) return Error::unsupported("a slice leaves nothing");
    if (!shrinks) result.result_axes.push_back(static_cast<int>(result.ranges.size()));
    result.ranges.push_back(range);
  }
  if (!had_ellipsis) keep_all(dims.size() - given);
  return result;
}

}  // namespace orrery::workload::import
