#include <algorithm>
#include <fmt/format.h>

#include "workload/import/onnx/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

Status OnnxTranslator::reshape(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  const Constant* target = constant_at(node, 1);
  if (target == nullptr || !target->known) return Error::unsupported("its shape is not known when reading");
  ORRERY_TRY(const Dims dims, reshape_dims(dims_of(x), target->integers(), node.integer("allowzero", 0) == 1));
  ORRERY_TRY(const OnnxValue result, reshaped(x, dims));
  give(node, result);
  return {};
}

Status OnnxTranslator::flatten(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  Constant stand_in;
  stand_in.dims = dims_of(x);
  const Constant* const inputs[] = {&stand_in};
  ORRERY_TRY(const std::vector<Constant> flat, fold(node, model_.opset, inputs, 0));
  ORRERY_TRY(const OnnxValue result, reshaped(x, flat.at(0).dims));
  give(node, result);
  return {};
}

Status OnnxTranslator::squeeze(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  const auto inputs = constants_at(node);
  if (node.inputs.size() > 1 && inputs[1] == nullptr) return Error::unsupported("axes is not known when reading");
  const Dims dims = dims_of(x);
  ORRERY_TRY(const Dims target, squeezed_dims(node, inputs, dims));
  ORRERY_TRY(const auto axes, list_of(node, "axes", inputs, 1));
  OnnxValue result = x;
  const int rank = static_cast<int>(node.type == "Squeeze" ? dims.size() : target.size());
  std::vector<bool> listed(static_cast<std::size_t>(rank), false);
  for (std::size_t i = 0; !axes && i < dims.size(); ++i) listed[i] = dims[i] == 1;
  for (const std::int64_t axis : axes.value_or(Dims())) {
    ORRERY_TRY(const int at, normal_axis(axis, rank));
    listed[static_cast<std::size_t>(at)] = true;
  }
  if (x.batch_axis >= 0) {
    // The place of the batch among the dimensions that stay.
    int seen = -1, place = -1;
    for (int i = 0; i < rank; ++i) {
      const bool stays = !listed[static_cast<std::size_t>(i)];
      if (stays) ++seen;
      if (node.type == "Squeeze" && i == x.batch_axis) place = stays ? seen : -1;
      if (node.type == "Unsqueeze" && stays && seen == x.batch_axis) place = i;
    }
    result.batch_axis = place;
  }
  ORRERY_TRY(result, reshaped_as(x, target, result));
  give(node, result);
  return {};
}

Status OnnxTranslator::transpose(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  ORRERY_TRY(const std::vector<int> order, transpose_order(node, static_cast<std::size_t>(shape_of(x).rank())));
  ORRERY_TRY(const OnnxValue result, transposed(x, order));
  give(node, result);
  return {};
}

Status OnnxTranslator::slice(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  const auto inputs = constants_at(node);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNoTensor && inputs[i] == nullptr) {
      return Error::unsupported("starts, ends, axes or steps are not known when reading");
    }
  }
  ORRERY_TRY(const std::vector<SliceRange> ranges, slice_ranges(node, inputs, dims_of(x)));
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const SliceRange& r = ranges[i];
    if (r.count < 1) return Error::unsupported(fmt::format("nothing is left of dimension {}", i));
    if (r.step > 0) {
      // At the end a step may reach beyond the last element.
      const std::int64_t size = shape_of(x)[static_cast<int>(i)];
      const std::int64_t end = r.count == size ? size : std::min(size, r.begin + (r.count - 1) * r.step + 1);
      ORRERY_TRY(x, sliced(x, static_cast<int>(i), r.begin, end, std::min(r.step, size)));
    } else {
      Dims dims = dims_of(x);
      dims[i] = r.count;
      ORRERY_TRY(x, indexed(x, std::move(dims)));
    }
  }
  give(node, x);
  return {};
}

Status OnnxTranslator::split(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  const auto inputs = constants_at(node);
  if (node.inputs.size() > 1 && node.inputs[1] != kNoTensor && inputs[1] == nullptr) {
    return Error::unsupported("the sizes of its parts are not known when reading");
  }
  ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), shape_of(x).rank()));
  ORRERY_TRY(const Dims sizes, split_sizes(node, inputs, shape_of(x)[axis]));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 0) {
      ORRERY_TRY(const OnnxValue part, sliced(x, axis, begin, begin + sizes[i], 1));
      bind(node.outputs[i], part);
    }
    begin += sizes[i];
  }
  return {};
}

Status OnnxTranslator::gather(const OnnxNode& node) {
  const Constant* data = constant_at(node, 0);
  const Constant* indices = constant_at(node, 1);
  if (data != nullptr) return gather_rows(node, *data);
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), shape_of(x).rank()));
  Dims dims = dims_of(x);
  const std::int64_t size = dims[static_cast<std::size_t>(axis)];
  if (indices != nullptr && indices->known && indices->dims.empty() && indices->numbers.size() == 1) {
    std::int64_t at = indices->integer(0);
    if (at < -size || at >= size) return Error::invalid(fmt::format("index {} is outside {}", at, size));
    if (at < 0) at += size;
    ORRERY_TRY(const OnnxValue part, sliced(x, axis, at, at + 1, 1));
    ORRERY_TRY(const OnnxValue result, without_axis(part, axis));
    give(node, result);
    return {};
  }
  Dims picked;
  if (indices != nullptr) {
    picked = indices->dims;
  } else {
    ORRERY_TRY(const OnnxValue i, value_at(node, 1));
    picked = dims_of(i);
  }
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, picked.begin(), picked.end());
  if (indices == nullptr) {
    ORRERY_TRY(const OnnxValue result, other(node, values_of(node), dims, type_of(x.value).dtype));
    give(node, result);
    return {};
  }
  OnnxValue source = x;
  if (picked.size() != 1 && x.batch_axis > axis) source.batch_axis = -1;
  ORRERY_TRY(const OnnxValue result, indexed(source, std::move(dims)));
  give(node, result);
  return {};
}

Status OnnxTranslator::gather_rows(const OnnxNode& node, const Constant& data) {
  ORRERY_TRY(OnnxValue indices, value_at(node, 1));
  const bool is_table = data.learned && data.dims.size() == 2 && node.integer("axis", 0) == 0;
  const bool is_owned = data.source >= 0 && owners_.contains(data.source);
  if (is_table && !is_owned) {
    if (data.source >= 0) owners_.emplace(data.source, OperatorIndex(operators_.size()));
    ORRERY_TRY(indices.value,
               emit(kEmbedding, name_of(node), {indices.value}, EmbeddingAttributes{data.dims[0], data.dims[1]}));
    give(node, indices);
    return {};
  }
  ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), static_cast<int>(data.dims.size())));
  Dims dims = data.dims;
  const Dims picked = dims_of(indices);
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, picked.begin(), picked.end());
  ORRERY_TRY(const OnnxValue result, other(node, {indices}, dims, data.dtype, parameters_of(node)));
  give(node, result);
  return {};
}

Status OnnxTranslator::expand(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  const Constant* target = constant_at(node, 1);
  if (target == nullptr || !target->known) return Error::unsupported("its shape is not known when reading");
  const Dims from = dims_of(x);
  ORRERY_TRY(const Dims dims, broadcast_dims(from, target->integers()));
  ORRERY_TRY_VOID(Shape::make(dims));
  if (dims == from) {
    give(node, x);
    return {};
  }
  Dims single = dims;
  if (!single.empty()) single[0] = 1;
  const bool to_batch = x.batch_axis < 0 && dims[0] == batch_ && single == from && sample_.value.op.valid();
  ORRERY_TRY(const OnnxValue result, to_batch ? expanded(x) : indexed(x, dims));
  give(node, result);
  return {};
}

Status OnnxTranslator::tile(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  Constant stand_in;
  stand_in.dims = dims_of(x);
  const Constant* const inputs[] = {&stand_in, constant_at(node, 1)};
  ORRERY_TRY(const std::vector<Constant> tiled, fold(node, model_.opset, inputs, 0));
  ORRERY_TRY(const OnnxValue result, indexed(x, tiled.at(0).dims));
  give(node, result);
  return {};
}

const Operator* OnnxTranslator::rolled_source(const std::vector<OnnxValue>& parts, int axis, Value& source) const {
  if (parts.size() != 2) return nullptr;
  const Operator& a = operators_[parts[0].value.op];
  const Operator& b = operators_[parts[1].value.op];
  if (a.kind != kSlice || b.kind != kSlice || a.inputs[0] != b.inputs[0]) return nullptr;
  const auto& tail = std::get<SliceAttributes>(a.attributes);
  const auto& head = std::get<SliceAttributes>(b.attributes);
  const bool fits = tail.axis == axis && head.axis == axis && tail.step == 1 && head.step == 1 && head.begin == 0 &&
                    head.end == tail.begin && tail.end == type_of(a.inputs[0]).shape[axis];
  if (!fits) return nullptr;
  source = a.inputs[0];
  return &operators_[source.op];
}

Status OnnxTranslator::concat(const OnnxNode& node) {
  std::vector<OnnxValue> parts;
  for (const TensorId id : node.inputs) {
    const Constant* c = constant_of(id);
    if (c != nullptr && c->elements() == 0) continue;
    ORRERY_TRY(const OnnxValue part, value_of(id));
    parts.push_back(part);
  }
  if (parts.empty()) return Error::invalid("it has no inputs");
  ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), shape_of(parts[0]).rank()));
  const auto with_batch =
      std::find_if(parts.begin(), parts.end(), [](const OnnxValue& b) { return b.batch_axis >= 0; });
  OnnxValue result = with_batch == parts.end() ? parts[0] : *with_batch;
  // What has no batch of its own is repeated for every sample. In a file of batch 1 nothing shows it.
  for (OnnxValue& part : parts) {
    const bool lacks = part.batch_axis < 0 && result.batch_axis == 0 && axis != 0 && shape_of(part).rank() > 0 &&
                       shape_of(part)[0] == 1 && sample_.value.op.valid();
    if (lacks) {
      ORRERY_TRY(part, expanded(part));
    }
  }
  Value source;
  if (const Operator* before = rolled_source(parts, axis, source)) {
    result.value = source;
    if (before->kind != kRoll) {
      ORRERY_TRY(result.value, emit(kRoll, name_of(node), {source}, {}));
    }
    give(node, result);
    return {};
  }
  if (axis == result.batch_axis) result.batch_axis = -1;
  std::vector<Value> values;
  for (const OnnxValue& part : parts) values.push_back(part.value);
  ORRERY_TRY(result.value, emit(kConcat, name_of(node), std::move(values), AxisAttributes{axis}));
  give(node, result);
  return {};
}

Status OnnxTranslator::pad(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  const auto inputs = constants_at(node);
  ORRERY_TRY(const auto pads, list_of(node, "pads", inputs, 1));
  const auto rank = static_cast<std::size_t>(shape_of(x).rank());
  if (!pads || pads->size() != 2 * rank) {
    return Error::invalid(fmt::format("expected {} pads that are known when reading", 2 * rank));
  }
  for (const std::int64_t size : *pads) {
    if (size < -kMaxElements || size > kMaxElements) return Error::invalid(fmt::format("pads has {}", size));
  }
  const Dims before(pads->begin(), pads->begin() + static_cast<std::ptrdiff_t>(rank));
  const Dims after(pads->begin() + static_cast<std::ptrdiff_t>(rank), pads->end());
  ORRERY_TRY(const OnnxValue result, padded(x, before, after));
  give(node, result);
  return {};
}

Status OnnxTranslator::dropout(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  double rate = node.number("ratio", 0.5);
  const Constant* ratio = constant_at(node, 1);
  if (ratio != nullptr && ratio->known && ratio->numbers.size() == 1) rate = ratio->numbers[0];
  if (rate > 0) {
    ORRERY_TRY(x.value, emit(kDropout, name_of(node), {x.value}, RateAttributes{std::min(rate, 1.0)}));
  }
  give(node, x);
  return {};
}

Status OnnxTranslator::identity(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  give(node, x);
  return {};
}

Status OnnxTranslator::resize(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  Dims dims = dims_of(x);
  const bool is_new = node.type == "Resize" && model_.opset >= 11;
  const Constant* scales = constant_at(node, is_new ? 2 : 1);
  const Constant* sizes = is_new ? constant_at(node, 3) : nullptr;
  std::vector<double> factors = scales != nullptr && scales->known ? scales->numbers : std::vector<double>();
  if (const OnnxAttribute* a = node.find("scales")) factors = a->floats;
  if (sizes != nullptr && sizes->known && sizes->numbers.size() == dims.size()) {
    dims = sizes->integers();
  } else if (factors.size() == dims.size()) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const double size = std::floor(static_cast<double>(dims[i]) * factors[i]);
      if (!(size >= 1 && size <= static_cast<double>(kMaxElements))) return Error::invalid("scales are out of range");
      dims[i] = static_cast<std::int64_t>(size);
    }
  } else {
    return Error::unsupported("its scales or sizes are not known when reading");
  }
  ORRERY_TRY(const OnnxValue result, other(node, {x}, dims, type_of(x.value).dtype));
  give(node, result);
  return {};
}

Status OnnxTranslator::depth_to_space(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  Dims d = dims_of(x);
  const std::int64_t block = node.integer("blocksize", 1);
  if (d.size() != 4 || block < 1 || block > (1 << 14))
    return Error::invalid("expected four dimensions and a blocksize");
  const bool to_space = node.type == "DepthToSpace";
  const bool fits = to_space ? d[1] % (block * block) == 0 : d[2] % block == 0 && d[3] % block == 0;
  if (!fits) return Error::invalid(fmt::format("blocksize {} does not divide {}", block, shape_of(x).to_string()));
  d = to_space ? Dims{d[0], d[1] / (block * block), d[2] * block, d[3] * block}
               : Dims{d[0], d[1] * block * block, d[2] / block, d[3] / block};
  ORRERY_TRY(const OnnxValue result, other(node, {x}, d, type_of(x.value).dtype));
  give(node, result);
  return {};
}

}  // namespace orrery::workload::import
