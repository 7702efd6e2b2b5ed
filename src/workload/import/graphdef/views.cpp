// Operators that only move or rename elements; see translator.h.

#include <algorithm>
#include <fmt/format.h>

#include "workload/import/graphdef/translator.h"

namespace orrery::workload::import {

using enum OperatorKind;

namespace {

constexpr int kPlace[] = {0, 2, 3, 1};  // of an axis of the file, where channels are first

int place_of(const Bound& x, int axis) {
  return x.channels_first ? kPlace[axis] : axis;
}

}  // namespace

Status GraphDefTranslator::identity(const GraphDefNode&) {
  if (const Constant* constant = constant_at(0)) {
    give(*constant);
    return {};
  }
  ORRERY_TRY(const Bound x, any_value_at(0));
  give(x);
  return {};
}

// Between floating-point types it is the affair of the precision that is predicted.
Status GraphDefTranslator::cast(const GraphDefNode& node) {
  if (constant_at(0) != nullptr) return identity(node);
  ORRERY_TRY(const Bound x, any_value_at(0));
  const DataType from = type_of(x.value).dtype, to = element_type_of(node.type("DstT")).value_or(from);
  if (is_floating(from) == is_floating(to)) return identity(node);
  return give_other({x}, dims_of(x), to);
}

// A view in either order: its cost depends only on the number of elements.
Status GraphDefTranslator::reshape(const GraphDefNode&) {
  ORRERY_TRY(const Bound x, any_value_at(0));
  ORRERY_TRY(const Dims target, integers_at(1, "the new shape"));
  ORRERY_TRY(const Dims dims, reshape_dims(dims_of(x), target, true));
  if (x.channels_first && dims == file_dims(x)) {
    give(x);
    return {};
  }
  Bound source = x;
  source.channels_first = false;
  ORRERY_TRY(const Bound result, reshaped(source, dims));
  give(result);
  return {};
}

Status GraphDefTranslator::transpose(const GraphDefNode&) {
  ORRERY_TRY(const Dims listed, integers_at(1, "the order"));
  ORRERY_TRY(const Bound x, any_value_at(0));
  // To and from [n, c, h, w], as `channels_first` says.
  if (x.channels_first && listed == Dims{0, 3, 1, 2}) {
    give(Bound{x.value, x.batch, false});
    return {};
  }
  if (!x.channels_first && shape_of(x).rank() == 4 && listed == Dims{0, 2, 3, 1}) {
    give(Bound{x.value, x.batch, true});
    return {};
  }
  ORRERY_TRY(const Bound source, plain(x));
  std::vector<int> order;
  for (const std::int64_t axis : listed) {
    ORRERY_TRY(const int normal, normal_axis(axis, shape_of(source).rank()));
    order.push_back(normal);
  }
  ORRERY_TRY(const Bound result, transposed(source, order));
  give(result);
  return {};
}

Result<Bound> GraphDefTranslator::without_axis(const Bound& x, int axis) {
  Dims dims = dims_of(x);
  dims.erase(dims.begin() + axis);
  BatchPlace place = x.batch;
  if (place.axis == axis) place.axis = -1;
  if (place.axis > axis) --place.axis;
  return reshaped_as(x, dims, place);
}

Result<Bound> GraphDefTranslator::with_axis(const Bound& x, int axis) {
  Dims dims = dims_of(x);
  dims.insert(dims.begin() + axis, 1);
  ORRERY_TRY_VOID(Shape::make(dims));
  BatchPlace place = x.batch;
  if (place.axis >= axis) ++place.axis;
  return reshaped_as(x, dims, place);
}

Status GraphDefTranslator::squeeze(const GraphDefNode& node) {
  ORRERY_TRY(Bound x, value_at(0));
  const int rank = shape_of(x).rank();
  std::vector<bool> gone(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : node.integers("squeeze_dims")) {
    ORRERY_TRY(const int normal, normal_axis(axis, rank));
    gone[static_cast<std::size_t>(normal)] = true;
  }
  const bool all = node.integers("squeeze_dims").empty();
  for (int i = rank; i-- > 0;) {
    const bool is_batch = i == x.batch.axis;
    const bool goes = all ? shape_of(x)[i] == 1 && !is_batch : gone[static_cast<std::size_t>(i)];
    if (!goes) continue;
    if (shape_of(x)[i] != 1) return Error::invalid(fmt::format("dimension {} is {}", i, shape_of(x)[i]));
    ORRERY_TRY(x, without_axis(x, i));
  }
  give(x);
  return {};
}

Status GraphDefTranslator::expand_dims(const GraphDefNode&) {
  ORRERY_TRY(const Bound x, value_at(0));
  ORRERY_TRY(const Dims axis, integers_at(1, "the axis"));
  if (axis.size() != 1) return Error::invalid("expected one axis");
  ORRERY_TRY(const int normal, normal_axis(axis[0], shape_of(x).rank() + 1));
  ORRERY_TRY(const Bound result, with_axis(x, normal));
  give(result);
  return {};
}

// Concat has the axis in front, ConcatV2 at the end. If all parts are images in our order, so is the result.
Status GraphDefTranslator::concat(const GraphDefNode& node) {
  if (input_count() < 2) return Error::invalid("it has no inputs");
  const std::size_t axis_input = node.op == "Concat" ? 0 : input_count() - 1;
  ORRERY_TRY(const Dims axis, integers_at(axis_input, "the axis"));
  if (axis.size() != 1) return Error::invalid("expected one axis");
  std::vector<Bound> parts;
  bool all_images = true;
  for (std::size_t i = 0; i < input_count(); ++i) {
    const Constant* constant = constant_at(i);
    if (i == axis_input || (constant != nullptr && constant->elements() == 0)) continue;
    ORRERY_TRY(const Bound part, any_value_at(i));
    all_images = all_images && part.channels_first;
    parts.push_back(part);
  }
  if (parts.empty()) return Error::invalid("it has no inputs");
  std::vector<Value> values;
  Bound result;
  for (Bound& part : parts) {
    if (!all_images) {
      ORRERY_TRY(part, plain(part));
    }
    if (result.batch.axis < 0) result = part;
    values.push_back(part.value);
  }
  ORRERY_TRY(const int normal, normal_axis(axis[0], shape_of(parts[0]).rank()));
  const int place = place_of(result, normal);
  if (place == result.batch.axis) result.batch.axis = -1;
  ORRERY_TRY(result.value, emit(kConcat, node.name, std::move(values), AxisAttributes{place}));
  give(result);
  return {};
}

Status GraphDefTranslator::pack(const GraphDefNode& node) {
  std::vector<Value> values;
  Bound result;
  int axis = 0;
  for (std::size_t i = 0; i < input_count(); ++i) {
    ORRERY_TRY(const Bound x, value_at(i));
    ORRERY_TRY(axis, normal_axis(node.integer("axis", 0), shape_of(x).rank() + 1));
    ORRERY_TRY(const Bound part, with_axis(x, axis));
    if (result.batch.axis < 0) result = part;
    values.push_back(part.value);
  }
  ORRERY_TRY(result.value, emit(kConcat, node.name, std::move(values), AxisAttributes{axis}));
  give(result);
  return {};
}

Status GraphDefTranslator::unpack(const GraphDefNode& node) {
  ORRERY_TRY(const Bound x, value_at(0));
  ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), shape_of(x).rank()));
  const std::int64_t count = shape_of(x)[axis];
  if (axis == x.batch.axis) return Error::unsupported("it takes the batch apart");
  constexpr std::int64_t kMost = 4096;
  if (count > kMost) return Error::unsupported(fmt::format("it has {} outputs; at most {} are read", count, kMost));
  for (std::int64_t i = 0; i < count; ++i) {
    ORRERY_TRY(const Bound part, sliced(x, axis, i, i + 1, 1));
    ORRERY_TRY(const Bound result, without_axis(part, axis));
    give(result, static_cast<std::size_t>(i));
  }
  return {};
}

// Split: axis, value. SplitV: value, sizes, axis.
Status GraphDefTranslator::split(const GraphDefNode& node) {
  const bool by_sizes = node.op == "SplitV";
  ORRERY_TRY(const Bound x, any_value_at(by_sizes ? 0 : 1));
  ORRERY_TRY(const Dims listed, integers_at(by_sizes ? 2 : 0, "the axis"));
  if (listed.size() != 1) return Error::invalid("expected one axis");
  ORRERY_TRY(const int normal, normal_axis(listed[0], shape_of(x).rank()));
  const int axis = place_of(x, normal);
  if (by_sizes) {
    ORRERY_TRY(const Dims sizes, integers_at(1, "the sizes"));
    return split_into(x, axis, sizes);
  }
  const std::int64_t parts = node.integer("num_split", 1);
  constexpr std::int64_t kMost = 4096;
  if (parts < 1 || parts > kMost || shape_of(x)[axis] % parts != 0) {
    return Error::invalid(fmt::format("{} cannot be split into {}", shape_of(x).to_string(), parts));
  }
  return split_into(x, axis, Dims(static_cast<std::size_t>(parts), shape_of(x)[axis] / parts));
}

// At most one size may be -1: the remaining elements.
Status GraphDefTranslator::split_into(const Bound& x, int axis, const Dims& sizes) {
  std::int64_t left = shape_of(x)[axis];
  for (const std::int64_t size : sizes) left -= std::clamp<std::int64_t>(size, 0, kMaxElements);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = sizes[i] < 0 ? left : sizes[i];
    if (size < 1 || size > shape_of(x)[axis] - begin) return Error::invalid("its parts do not fit");
    ORRERY_TRY(const Bound part, sliced(x, axis, begin, begin + size, 1));
    give(part, i);
    begin += size;
  }
  return {};
}

Status GraphDefTranslator::pad(const GraphDefNode&) {
  ORRERY_TRY(const Bound x, any_value_at(0));
  ORRERY_TRY(const Dims pads, integers_at(1, "the padding"));
  const auto rank = static_cast<std::size_t>(shape_of(x).rank());
  if (pads.size() != 2 * rank) return Error::invalid(fmt::format("expected {} numbers of padding", 2 * rank));
  Dims before(rank, 0), after(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    if (std::min(pads[2 * i], pads[2 * i + 1]) < 0 || std::max(pads[2 * i], pads[2 * i + 1]) > kMaxElements) {
      return Error::invalid("the padding is out of range");
    }
    const auto place = static_cast<std::size_t>(place_of(x, static_cast<int>(i)));
    before[place] = pads[2 * i];
    after[place] = pads[2 * i + 1];
  }
  ORRERY_TRY(const Bound result, padded(x, before, after));
  give(result);
  return {};
}

// begin and size, which is -1 for the rest.
Status GraphDefTranslator::slice(const GraphDefNode&) {
  ORRERY_TRY(Bound x, value_at(0));
  ORRERY_TRY(const Dims begin, integers_at(1, "begin"));
  ORRERY_TRY(const Dims size, integers_at(2, "size"));
  const auto rank = static_cast<std::size_t>(shape_of(x).rank());
  if (begin.size() != rank || size.size() != rank) return Error::invalid("begin and size do not fit its input");
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t whole = shape_of(x)[static_cast<int>(i)];
    if (begin[i] < 0 || begin[i] >= whole || size[i] > whole - begin[i]) return Error::invalid("it lies outside");
    const std::int64_t end = size[i] < 0 ? whole : begin[i] + size[i];
    ORRERY_TRY(x, sliced(x, static_cast<int>(i), begin[i], end, 1));
  }
  give(x);
  return {};
}

Status GraphDefTranslator::strided_slice(const GraphDefNode& node) {
  ORRERY_TRY(Bound x, value_at(0));
  const std::vector<const Constant*> inputs = constants();
  ORRERY_TRY(const StridedRanges slice, strided_ranges(node, inputs, shape_of(x).dims()));
  for (std::size_t i = 0; i < slice.ranges.size(); ++i) {
    const SliceRange& r = slice.ranges[i];
    const auto axis = static_cast<int>(i);
    const std::int64_t size = shape_of(x)[axis];
    if (r.step > 0) {
      const std::int64_t end = r.count == size ? size : std::min(size, r.begin + (r.count - 1) * r.step + 1);
      ORRERY_TRY(x, sliced(x, axis, r.begin, end, std::min(r.step, size)));
    } else {
      Dims dims = dims_of(x);
      dims[i] = r.count;
      ORRERY_TRY(x, indexed(x, std::move(dims)));
    }
  }
  for (int axis = shape_of(x).rank(); axis-- > 0;) {
    const bool is_left = std::find(slice.result_axes.begin(), slice.result_axes.end(), axis) != slice.result_axes.end();
    if (is_left) continue;
    ORRERY_TRY(x, without_axis(x, axis));
  }
  for (std::size_t i = 0; i < slice.result_axes.size(); ++i) {
    if (slice.result_axes[i] != kNewAxis) continue;
    ORRERY_TRY(x, with_axis(x, static_cast<int>(i)));
  }
  give(x);
  return {};
}

Status GraphDefTranslator::tile(const GraphDefNode&) {
  ORRERY_TRY(const Bound x, value_at(0));
  ORRERY_TRY(const Dims times, integers_at(1, "how often"));
  Dims dims = dims_of(x);
  if (times.size() != dims.size()) return Error::invalid("expected one number per dimension");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (times[i] < 1 || times[i] > kMaxElements / dims[i]) return Error::invalid("a number of repeats is out of range");
    dims[i] *= times[i];
  }
  ORRERY_TRY(const Bound result, indexed(x, std::move(dims)));
  give(result);
  return {};
}

}  // namespace orrery::workload::import
