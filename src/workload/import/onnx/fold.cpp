#include "workload/import/onnx/fold.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>

namespace orrery::workload::import {

namespace {

using Dims = std::vector<std::int64_t>;
using Inputs = std::span<const Constant* const>;
using Constants = std::vector<Constant>;

const Constant* input_at(Inputs inputs, std::size_t index) {
  return index < inputs.size() ? inputs[index] : nullptr;
}

Result<const Constant*> required(Inputs inputs, std::size_t index) {
  const Constant* c = input_at(inputs, index);
  if (c == nullptr) return Error::invalid(fmt::format("input {} is missing", index));
  return c;
}

Result<const Constant*> required_known(Inputs inputs, std::size_t index) {
  ORRERY_TRY(const Constant* c, required(inputs, index));
  if (!c->known) return Error::unsupported(fmt::format("input {} has numbers that are not known when reading", index));
  return c;
}

// What is folded: files compute shapes with ordinary operators (Shape, Gather, Concat, Reshape…), so these operators
// are computed on constants. Every result has a shape; it has numbers only if all inputs have, and if there are at most
// budget_ of them. A result without numbers is always sound: a consumer that needs them gets an error from
// required_known(). A wrong number would silently give a wrong graph, so an operator without an exact rule (Softmax,
// Erf, CumSum…) gives the shape only, and a type without any rule gives no constant at all. Numbers are doubles, exact
// for integers up to 2^53.
//
// Limits: the caller's budget over the whole file and kMostNumbers per tensor bound time and memory, so a hostile file
// of a few bytes (Expand to 2^40) costs nothing. Ranks and element counts are checked on every result (one()) before
// anything multiplies them further. Nothing recurses: nodes are folded in sorted order.
class Folder {
 public:
  Folder(const OnnxNode& node, std::int64_t opset, Inputs inputs, std::size_t budget)
      : node_(node), opset_(opset), inputs_(inputs), budget_(std::min(budget, kMostNumbers)) {}

  Result<Constants> run() {
    const std::string& type = node_.type;
    if (type == "Constant") return one(constant());
    if (type == "ConstantOfShape") return one(constant_of_shape());
    if (type == "Range") return one(range());
    if (inputs_.empty() || inputs_[0] == nullptr) return Constants{};
    if (type == "Shape") return one(shape());
    if (type == "Size") return one(integer_scalar(inputs_[0]->elements()));
    if (type == "Identity") return one(*inputs_[0]);
    if (type == "Cast") return one(cast());
    if (type == "Gather") return one(gather());
    if (type == "Concat") return one(concat());
    if (type == "Slice") return one(slice());
    if (type == "Split") return split();
    if (type == "Transpose") return one(transpose());
    if (type == "Expand") return one(expand());
    if (type == "Tile") return one(tile());
    if (type == "Where") return one(where());
    if (type == "Reshape" || type == "Flatten") return one(reshape());
    if (type == "Squeeze" || type == "Unsqueeze") {
      ORRERY_TRY(Dims dims, squeezed_dims(node_, inputs_, inputs_[0]->dims));
      return one(with_dims(*inputs_[0], std::move(dims)));
    }
    if (type == "ReduceProd" || type == "ReduceSum" || type == "ReduceMax" || type == "ReduceMin" ||
        type == "ReduceMean" || type == "ReduceL2") {
      return one(reduce());
    }
    if (type == "ScatterND" || type == "ScatterElements" || type == "Scatter" || type == "CumSum" || type == "Trilu" ||
        type == "Softmax") {
      return one(unknown(inputs_[0]->dims, inputs_[0]->dtype));
    }
    if (type == "Dropout") return dropout();
    if (is_unary()) return one(unary());
    if (is_binary()) return one(binary());
    return Constants{};
  }

 private:
  static Result<Constants> one(Result<Constant> result) {
    ORRERY_TRY(Constant c, std::move(result));
    if (c.dims.size() > static_cast<std::size_t>(kMaxRank)) {
      return Error::unsupported(fmt::format("its result has more than {} dimensions", kMaxRank));
    }
    ORRERY_TRY(const std::int64_t elements, count_elements(c.dims));
    if (elements > kMaxElements) return Error::invalid("its result has more than 2^48 elements");
    Constants results;
    results.push_back(std::move(c));
    return results;
  }

  // A constant of these dimensions that descends from the inputs, its numbers not known. Whether it descends from
  // weights is kept even where numbers are known: the translator must tell parameters from shapes.
  Constant unknown(Dims dims, DataType dtype) const {
    Constant c;
    c.dims = std::move(dims);
    c.dtype = dtype;
    for (const Constant* input : inputs_) {
      if (input == nullptr || !input->learned) continue;
      c.source = !c.learned || c.source == input->source ? input->source : -2;
      c.learned = true;
    }
    return c;
  }

  Constant with_dims(const Constant& input, Dims dims) const {
    Constant c = input;
    c.dims = std::move(dims);
    return c;
  }

  // Fills the numbers of `c`, if all inputs are known and it is small, by calling number(index).
  Result<Constant> fill(Constant c, const std::function<double(std::size_t)>& number) const {
    const std::int64_t elements = c.elements();
    if (elements > static_cast<std::int64_t>(budget_)) return c;
    for (const Constant* input : inputs_) {
      if (input != nullptr && !input->known) return c;
    }
    c.known = true;
    c.numbers.resize(static_cast<std::size_t>(elements));
    for (std::size_t i = 0; i < c.numbers.size(); ++i) c.numbers[i] = number(i);
    return c;
  }

  Result<Constant> constant() const {
    if (const OnnxAttribute* a = node_.find("value"); a != nullptr && a->tensor) return *a->tensor;
    if (const OnnxAttribute* a = node_.find("value_int")) return integer_scalar(a->i);
    if (const OnnxAttribute* a = node_.find("value_ints")) {
      if (a->ints.size() > kMostNumbers) return Error::unsupported("value_ints is too long");
      return integer_vector(a->ints);
    }
    Constant c;
    c.known = true;
    if (const OnnxAttribute* a = node_.find("value_float")) {
      c.numbers = {a->f};
      return c;
    }
    if (const OnnxAttribute* a = node_.find("value_floats")) {
      if (a->floats.size() > kMostNumbers) return Error::unsupported("value_floats is too long");
      c.numbers = a->floats;
      c.dims = {static_cast<std::int64_t>(c.numbers.size())};
      return c;
    }
    return Error::unsupported("it has no value that can be read (value, value_int, value_ints, value_float)");
  }

  Result<Constant> constant_of_shape() const {
    ORRERY_TRY(const Constant* shape, required_known(inputs_, 0));
    Constant c;
    c.dims = shape->integers();
    double number = 0;
    if (const OnnxAttribute* a = node_.find("value"); a != nullptr && a->tensor) {
      c.dtype = a->tensor->dtype;
      if (a->tensor->known && !a->tensor->numbers.empty()) number = a->tensor->numbers[0];
    }
    return fill(std::move(c), [&](std::size_t) { return number; });
  }

  Result<Constant> range() const {
    ORRERY_TRY(const Constant* start, required_known(inputs_, 0));
    ORRERY_TRY(const Constant* limit, required_known(inputs_, 1));
    ORRERY_TRY(const Constant* delta, required_known(inputs_, 2));
    if (start->numbers.empty() || limit->numbers.empty() || delta->numbers.empty() || delta->numbers[0] == 0) {
      return Error::invalid("start, limit and delta must be numbers, and delta not 0");
    }
    const double first = start->numbers[0], step = delta->numbers[0];
    const double count = std::max(0.0, std::ceil((limit->numbers[0] - first) / step));
    if (!(count <= static_cast<double>(kMaxElements))) return Error::invalid("it has more than 2^48 elements");
    Constant c;
    c.dtype = start->dtype;
    c.dims = {static_cast<std::int64_t>(count)};
    return fill(std::move(c), [&](std::size_t i) { return first + static_cast<double>(i) * step; });
  }

  Result<Constant> shape() const {
    const Dims& dims = inputs_[0]->dims;
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const std::int64_t begin = bound(std::max(node_.integer("start", 0), -rank));
    const std::int64_t end = std::max(begin, bound(std::max(node_.integer("end", rank), -rank)));
    return integer_vector(Dims(dims.begin() + begin, dims.begin() + end));
  }

  // The mask is drawn anew each time, so it descends from nothing.
  Result<Constants> dropout() const {
    const Constant& x = *inputs_[0];
    ORRERY_TRY(Constants results, one(unknown(x.dims, x.dtype)));
    Constant& mask = results.emplace_back();
    mask.dims = x.dims;
    mask.dtype = opset_ < 10 ? x.dtype : DataType::kBool;
    return results;
  }

  Result<Constant> cast() const {
    const auto dtype = element_type(static_cast<int>(std::clamp<std::int64_t>(node_.integer("to", 1), 0, 1000)));
    if (!dtype) return Error::unsupported("it casts to a type that cannot be read");
    Constant c = *inputs_[0];
    c.dtype = *dtype;
    for (double& number : c.numbers) {
      if (*dtype == DataType::kBool) number = number != 0 ? 1 : 0;
      if (!is_floating(*dtype)) number = std::trunc(number);
    }
    return c;
  }

  Result<Constant> gather() const {
    const Constant& data = *inputs_[0];
    ORRERY_TRY(const Constant* indices, required(inputs_, 1));
    ORRERY_TRY(const int axis, normal_axis(node_.integer("axis", 0), static_cast<int>(data.dims.size())));
    const std::int64_t size = data.dims[static_cast<std::size_t>(axis)];
    Dims dims(data.dims.begin(), data.dims.begin() + axis);
    dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
    dims.insert(dims.end(), data.dims.begin() + axis + 1, data.dims.end());
    std::size_t inner = 1;
    for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < data.dims.size(); ++i) {
      inner *= static_cast<std::size_t>(data.dims[i]);
    }
    const std::size_t picks = indices->numbers.size();
    for (std::size_t i = 0; indices->known && i < picks; ++i) {
      const std::int64_t index = indices->integer(i);
      if (index < -size || index >= size) {
        return Error::invalid(
            fmt::format("index {} is outside dimension {} of [{}]", index, axis, fmt::join(data.dims, ", ")));
      }
    }
    return fill(unknown(std::move(dims), data.dtype), [&](std::size_t i) {
      const std::int64_t index = indices->integer(i / inner % picks);
      const std::size_t row = static_cast<std::size_t>(index < 0 ? index + size : index);
      return data.numbers[(i / inner / picks * static_cast<std::size_t>(size) + row) * inner + i % inner];
    });
  }

  Result<Constant> concat() const {
    const Dims& first = inputs_[0]->dims;
    ORRERY_TRY(const int axis, normal_axis(node_.integer("axis", 0), static_cast<int>(first.size())));
    Dims dims = first;
    std::int64_t total = 0;
    for (const Constant* input : inputs_) {
      if (input == nullptr) return Error::invalid("an input is missing");
      Dims like = input->dims;
      if (like.size() != first.size()) return Error::invalid("its inputs differ in rank");
      total += like[static_cast<std::size_t>(axis)];
      if (total > kMaxElements) return Error::invalid("its result has more than 2^48 elements");
      like[static_cast<std::size_t>(axis)] = first[static_cast<std::size_t>(axis)];
      if (like != first) return Error::invalid("its inputs differ outside the axis");
    }
    dims[static_cast<std::size_t>(axis)] = total;
    Constant c = unknown(std::move(dims), inputs_[0]->dtype);
    // Row-major: a run of each input after another, `outer` times.
    const bool is_known = std::all_of(inputs_.begin(), inputs_.end(), [](const Constant* i) { return i->known; });
    if (!is_known || c.elements() > static_cast<std::int64_t>(budget_)) return c;
    std::int64_t outer = 1;
    for (int i = 0; i < axis; ++i) outer *= first[static_cast<std::size_t>(i)];
    c.known = true;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (const Constant* input : inputs_) {
        const auto run = static_cast<std::ptrdiff_t>(input->numbers.size()) / outer;
        c.numbers.insert(c.numbers.end(), input->numbers.begin() + o * run, input->numbers.begin() + (o + 1) * run);
      }
    }
    return c;
  }

  // The numbers of input 0 at places that are linear in the indices of the result: `first`, plus a stride per
  // dimension. Slice, Split, Transpose and Expand are all of this form. A stride of 0 repeats, a negative one reverses;
  // the callers guarantee that every place is inside the input.
  Result<Constant> strided(Dims dims, std::int64_t first, const Dims& strides) const {
    Constant c = unknown(std::move(dims), inputs_[0]->dtype);
    if (!inputs_[0]->known || c.elements() > static_cast<std::int64_t>(budget_)) return c;
    c.known = true;
    c.numbers.resize(static_cast<std::size_t>(c.elements()));
    for (std::size_t i = 0; i < c.numbers.size(); ++i) {
      std::int64_t at = first;
      auto left = static_cast<std::int64_t>(i);
      for (std::size_t d = c.dims.size(); d-- > 0; left /= c.dims[d]) at += left % c.dims[d] * strides[d];
      c.numbers[i] = inputs_[0]->numbers[static_cast<std::size_t>(at)];
    }
    return c;
  }

  static Dims strides_of(const Dims& dims) {
    Dims strides(dims.size(), 1);
    for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = std::min(strides[i] * dims[i], kMaxElements);
    return strides;
  }

  Result<Constant> slice() const {
    const Dims& dims = inputs_[0]->dims;
    ORRERY_TRY(const std::vector<SliceRange> ranges, slice_ranges(node_, inputs_, dims));
    Dims out, strides = strides_of(dims);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      out.push_back(ranges[i].count);
      if (!inputs_[0]->known) continue;
      first += ranges[i].begin * strides[i];
      strides[i] *= ranges[i].step;
    }
    return strided(std::move(out), first, strides);
  }

  Result<Constants> split() const {
    const Dims& dims = inputs_[0]->dims;
    ORRERY_TRY(const int axis, normal_axis(node_.integer("axis", 0), static_cast<int>(dims.size())));
    const auto at = static_cast<std::size_t>(axis);
    ORRERY_TRY(const Dims sizes, split_sizes(node_, inputs_, dims[at]));
    const Dims strides = strides_of(dims);
    Constants results;
    std::int64_t begin = 0;
    for (const std::int64_t size : sizes) {
      Dims part = dims;
      part[at] = size;
      ORRERY_TRY(Constant c, strided(std::move(part), inputs_[0]->known ? begin * strides[at] : 0, strides));
      results.push_back(std::move(c));
      begin += size;
    }
    return results;
  }

  Result<Constant> transpose() const {
    const Dims& dims = inputs_[0]->dims;
    ORRERY_TRY(const std::vector<int> order, transpose_order(node_, dims.size()));
    const Dims strides = strides_of(dims);
    Dims out, out_strides;
    for (const int axis : order) {
      out.push_back(dims[static_cast<std::size_t>(axis)]);
      out_strides.push_back(strides[static_cast<std::size_t>(axis)]);
    }
    return strided(std::move(out), 0, out_strides);
  }

  // input 0 repeated to `dims`, which must be what it broadcasts to.
  Result<Constant> broadcast_to(Dims dims) const {
    const Dims& from = inputs_[0]->dims;
    const Dims from_strides = strides_of(from);
    Dims strides(dims.size(), 0);
    const std::size_t extra = dims.size() - from.size();
    for (std::size_t i = 0; i < from.size(); ++i) strides[i + extra] = from[i] == 1 ? 0 : from_strides[i];
    return strided(std::move(dims), 0, strides);
  }

  Result<Constant> expand() const {
    ORRERY_TRY(const Constant* shape, required_known(inputs_, 1));
    ORRERY_TRY(Dims dims, broadcast_dims(inputs_[0]->dims, shape->integers()));
    ORRERY_TRY_VOID(count_elements(dims));
    return broadcast_to(std::move(dims));
  }

  Result<Constant> tile() const {
    ORRERY_TRY(const Constant* repeats, required_known(inputs_, 1));
    Dims dims = inputs_[0]->dims;
    if (repeats->numbers.size() != dims.size()) return Error::invalid("repeats must have one number per dimension");
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::int64_t times = repeats->integer(i);
      if (times < 0 || times > kMaxElements) return Error::invalid(fmt::format("repeats has {}", times));
      dims[i] = dims[i] == 0 || times <= kMaxElements / dims[i] ? dims[i] * times : kMaxElements + 1;
    }
    return unknown(std::move(dims), inputs_[0]->dtype);
  }

  Result<Constant> reshape() const {
    const Dims& dims = inputs_[0]->dims;
    if (node_.type == "Flatten") {
      const auto rank = static_cast<std::int64_t>(dims.size());
      std::int64_t axis = node_.integer("axis", 1);
      if (axis < -rank || axis > rank) return Error::invalid(fmt::format("axis {} is out of range", axis));
      if (axis < 0) axis += rank;
      ORRERY_TRY(const std::int64_t before, count_elements(Dims(dims.begin(), dims.begin() + axis)));
      ORRERY_TRY(const std::int64_t after, count_elements(Dims(dims.begin() + axis, dims.end())));
      return with_dims(*inputs_[0], {before, after});
    }
    ORRERY_TRY(const Constant* target, required_known(inputs_, 1));
    ORRERY_TRY(Dims out, reshape_dims(dims, target->integers(), node_.integer("allowzero", 0) == 1));
    return with_dims(*inputs_[0], std::move(out));
  }

  Result<Constant> reduce() const {
    std::vector<int> axes;
    const Constant& input = *inputs_[0];
    ORRERY_TRY(Dims dims, reduced_dims(node_, inputs_, input.dims, axes));
    Constant c = unknown(std::move(dims), input.dtype);
    // Numbers only where everything becomes one: the number of elements of a shape.
    if (!input.known || input.numbers.empty() || c.elements() != 1) return c;
    double result = input.numbers[0];
    for (std::size_t i = 1; i < input.numbers.size(); ++i) {
      const double number = input.numbers[i];
      if (node_.type == "ReduceProd") result *= number;
      if (node_.type == "ReduceSum" || node_.type == "ReduceMean") result += number;
      if (node_.type == "ReduceMax") result = std::max(result, number);
      if (node_.type == "ReduceMin") result = std::min(result, number);
    }
    if (node_.type == "ReduceMean") result /= static_cast<double>(input.numbers.size());
    c.known = node_.type != "ReduceL2";
    if (c.known) c.numbers = {result};
    return c;
  }

  // The index in a broadcast operand of number i of a result of dimensions `out`. Dimensions of 1 have no stride, which
  // repeats them.
  static std::size_t broadcast_index(std::size_t i, const Dims& out, const Dims& from) {
    std::size_t at = 0, stride = 1;
    for (std::size_t d = out.size(); d-- > 0; i /= static_cast<std::size_t>(out[d])) {
      const std::size_t extra = out.size() - from.size();
      if (d < extra) break;
      const auto size = static_cast<std::size_t>(from[d - extra]);
      if (size > 1) at += i % static_cast<std::size_t>(out[d]) * stride;
      stride *= size;
    }
    return at;
  }

  Result<Constant> where() const {
    ORRERY_TRY(const Constant* a, required(inputs_, 1));
    ORRERY_TRY(const Constant* b, required(inputs_, 2));
    ORRERY_TRY(Dims dims, broadcast_dims(a->dims, b->dims));
    ORRERY_TRY(dims, broadcast_dims(dims, inputs_[0]->dims));
    Constant c = unknown(dims, a->dtype);
    return fill(std::move(c), [&](std::size_t i) {
      const bool yes = inputs_[0]->numbers[broadcast_index(i, dims, inputs_[0]->dims)] != 0;
      const Constant& from = yes ? *a : *b;
      return from.numbers[broadcast_index(i, dims, from.dims)];
    });
  }

  bool is_unary() const {
    static constexpr std::string_view kTypes[] = {"Floor", "Ceil", "Round", "Sqrt",    "Neg",  "Abs",
                                                  "Not",   "Exp",  "Log",   "Sigmoid", "Tanh", "Relu",
                                                  "Sign",  "Erf",  "Sin",   "Cos",     "Clip", "Reciprocal"};
    return std::find(std::begin(kTypes), std::end(kTypes), node_.type) != std::end(kTypes);
  }

  Result<Constant> unary() const {
    const std::string& type = node_.type;
    const std::vector<double>& numbers = inputs_[0]->numbers;
    Constant c = unknown(inputs_[0]->dims, inputs_[0]->dtype);
    if (type != "Floor" && type != "Ceil" && type != "Round" && type != "Sqrt" && type != "Neg" && type != "Abs" &&
        type != "Not") {
      return c;
    }
    return fill(std::move(c), [&](std::size_t i) {
      const double x = numbers[i];
      if (type == "Floor") return std::floor(x);
      if (type == "Ceil") return std::ceil(x);
      if (type == "Round") return std::nearbyint(x);
      if (type == "Sqrt") return std::sqrt(x);
      if (type == "Neg") return -x;
      if (type == "Abs") return std::abs(x);
      return x == 0 ? 1.0 : 0.0;
    });
  }

  bool is_binary() const {
    static constexpr std::string_view kTypes[] = {"Add", "Sub",  "Mul",         "Div",           "Mod", "Pow",
                                                  "Max", "Min",  "Equal",       "And",           "Or",  "Greater",
                                                  "Xor", "Less", "LessOrEqual", "GreaterOrEqual"};
    return std::find(std::begin(kTypes), std::end(kTypes), node_.type) != std::end(kTypes);
  }

  // Division by 0 of integers gives 0 instead of an exception: the result is meaningless in any case, but must not end
  // the program.
  double apply(double a, double b, bool integral) const {
    const std::string& type = node_.type;
    if (type == "Add") return a + b;
    if (type == "Sub") return a - b;
    if (type == "Mul") return a * b;
    if (type == "Div") return integral ? (b == 0 ? 0 : std::trunc(a / b)) : a / b;
    if (type == "Mod" && b == 0) return 0;
    if (type == "Mod") return node_.integer("fmod", 0) != 0 ? std::fmod(a, b) : a - b * std::floor(a / b);
    if (type == "Pow") return std::pow(a, b);
    if (type == "Max") return std::max(a, b);
    if (type == "Min") return std::min(a, b);
    if (type == "Equal") return a == b ? 1 : 0;
    if (type == "Greater") return a > b ? 1 : 0;
    if (type == "Less") return a < b ? 1 : 0;
    if (type == "LessOrEqual") return a <= b ? 1 : 0;
    if (type == "GreaterOrEqual") return a >= b ? 1 : 0;
    if (type == "And") return a != 0 && b != 0 ? 1 : 0;
    if (type == "Or") return a != 0 || b != 0 ? 1 : 0;
    return (a != 0) != (b != 0) ? 1 : 0;  // Xor
  }

  Result<Constant> binary() const {
    if (inputs_.size() == 1) return *inputs_[0];  // Max or Min of one
    ORRERY_TRY(const Constant* b, required(inputs_, 1));
    if (inputs_.size() > 2) return Error::unsupported("more than two constants");
    const Constant& a = *inputs_[0];
    ORRERY_TRY(Dims dims, broadcast_dims(a.dims, b->dims));
    const bool integral = a.integral() && b->integral();
    const std::string& type = node_.type;
    const bool is_test = type == "Equal" || type == "Greater" || type == "Less" || type == "And" || type == "Or" ||
                         type == "Xor" || type == "LessOrEqual" || type == "GreaterOrEqual";
    Constant c = unknown(dims, is_test ? DataType::kBool : a.integral() ? b->dtype : a.dtype);
    return fill(std::move(c), [&](std::size_t i) {
      return apply(a.numbers[broadcast_index(i, dims, a.dims)], b->numbers[broadcast_index(i, dims, b->dims)],
                   integral);
    });
  }

  const OnnxNode& node_;
  std::int64_t opset_;
  Inputs inputs_;
  std::size_t budget_;
};

}  // namespace

Result<std::vector<Constant>> fold(const OnnxNode& node, std::int64_t opset, std::span<const Constant* const> inputs,
                                   std::size_t budget) {
  return Folder(node, opset, inputs, budget).run();
}

Result<std::optional<std::vector<std::int64_t>>> list_of(const OnnxNode& node, std::string_view attribute,
                                                         Inputs inputs, std::size_t index) {
  using List = std::optional<std::vector<std::int64_t>>;
  if (node.find(attribute) != nullptr) return List(node.integers(attribute));
  if (input_at(inputs, index) == nullptr) return List();
  auto known = required_known(inputs, index);
  if (!known) return std::move(known).error().with_context(std::string(attribute));
  return List((*known)->integers());
}

Result<std::vector<SliceRange>> slice_ranges(const OnnxNode& node, Inputs inputs, const Dims& dims) {
  ORRERY_TRY(const auto starts, list_of(node, "starts", inputs, 1));
  ORRERY_TRY(const auto ends, list_of(node, "ends", inputs, 2));
  ORRERY_TRY(auto axes, list_of(node, "axes", inputs, 3));
  ORRERY_TRY(auto steps, list_of(node, "steps", inputs, 4));
  if (!starts || !ends) return Error::invalid("starts and ends are missing");
  const std::size_t count = starts->size();
  if (!axes) {
    axes.emplace(count);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps) steps.emplace(count, 1);
  if (ends->size() != count || axes->size() != count || steps->size() != count) {
    return Error::invalid("starts, ends, axes and steps differ in length");
  }
  std::vector<SliceRange> ranges;
  for (const std::int64_t dim : dims) ranges.push_back({0, dim, 1});
  for (std::size_t i = 0; i < count; ++i) {
    ORRERY_TRY(const int axis, normal_axis((*axes)[i], static_cast<int>(dims.size())));
    const auto at = static_cast<std::size_t>(axis);
    ORRERY_TRY(ranges[at], slice_range((*starts)[i], (*ends)[i], (*steps)[i], dims[at]));
  }
  return ranges;
}

Result<Dims> squeezed_dims(const OnnxNode& node, Inputs inputs, const Dims& dims) {
  ORRERY_TRY(const auto axes, list_of(node, "axes", inputs, 1));
  Dims result;
  if (node.type == "Squeeze") {
    std::vector<bool> dropped(dims.size(), false);
    for (std::size_t i = 0; !axes && i < dims.size(); ++i) dropped[i] = dims[i] == 1;
    for (const std::int64_t axis : axes.value_or(Dims())) {
      ORRERY_TRY(const int at, normal_axis(axis, static_cast<int>(dims.size())));
      if (dims[static_cast<std::size_t>(at)] != 1) {
        return Error::invalid(fmt::format("dimension {} of [{}] is not 1", axis, fmt::join(dims, ", ")));
      }
      dropped[static_cast<std::size_t>(at)] = true;
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!dropped[i]) result.push_back(dims[i]);
    }
    return result;
  }
  if (!axes) return Error::invalid("axes is missing");
  const std::size_t rank = dims.size() + axes->size();
  if (rank > static_cast<std::size_t>(kMaxRank)) {
    return Error::unsupported(fmt::format("its result has more than {} dimensions", kMaxRank));
  }
  result.assign(rank, 0);
  for (const std::int64_t axis : *axes) {
    ORRERY_TRY(const int at, normal_axis(axis, static_cast<int>(rank)));
    if (result[static_cast<std::size_t>(at)] == 1) return Error::invalid(fmt::format("axis {} is there twice", axis));
    result[static_cast<std::size_t>(at)] = 1;
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (result[i] != 1) result[i] = dims[next++];
  }
  return result;
}

Result<Dims> reduced_dims(const OnnxNode& node, Inputs inputs, const Dims& dims, std::vector<int>& axes) {
  ORRERY_TRY(const auto listed, list_of(node, "axes", inputs, 1));
  std::vector<bool> reduced(dims.size(), !listed || listed->empty());
  if (listed && listed->empty() && node.integer("noop_with_empty_axes", 0) == 1) return dims;
  for (const std::int64_t axis : listed.value_or(Dims())) {
    ORRERY_TRY(const int at, normal_axis(axis, static_cast<int>(dims.size())));
    reduced[static_cast<std::size_t>(at)] = true;
  }
  const bool keep = node.integer("keepdims", 1) != 0;
  Dims result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (reduced[i]) axes.push_back(static_cast<int>(i));
    if (!reduced[i] || keep) result.push_back(reduced[i] ? 1 : dims[i]);
  }
  return result;
}

Result<std::vector<int>> transpose_order(const OnnxNode& node, std::size_t rank) {
  std::vector<int> order;
  if (node.find("perm") == nullptr) {
    for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<int>(i));
    return order;
  }
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : node.integers("perm")) {
    ORRERY_TRY(const int at, normal_axis(axis, static_cast<int>(rank)));
    if (seen[static_cast<std::size_t>(at)]) return Error::invalid(fmt::format("perm has {} twice", axis));
    seen[static_cast<std::size_t>(at)] = true;
    order.push_back(at);
  }
  if (order.size() != rank) {
    return Error::invalid(fmt::format("perm has {} numbers; the input has {} dimensions", order.size(), rank));
  }
  return order;
}

Result<Dims> split_sizes(const OnnxNode& node, Inputs inputs, std::int64_t size) {
  ORRERY_TRY(const auto listed, list_of(node, "split", inputs, 1));
  const auto parts = static_cast<std::int64_t>(node.outputs.size());
  if (parts == 0) return Error::invalid("it has no outputs");
  const bool has_number = node.find("num_outputs") != nullptr;
  if (has_number && node.integer("num_outputs", 0) != parts) {
    return Error::invalid(
        fmt::format("num_outputs is {}, but it has {} outputs", node.integer("num_outputs", 0), parts));
  }
  Dims sizes = listed.value_or(Dims());
  if (!listed) {
    // Equal parts; where their number is stated (opset 18) the last one may be smaller.
    if (size % parts != 0 && !has_number) {
      return Error::invalid(fmt::format("{} cannot be split into {} equal parts", size, parts));
    }
    const std::int64_t each = (size + parts - 1) / parts;
    sizes.assign(static_cast<std::size_t>(parts), each);
    sizes.back() = size - each * (parts - 1);
  }
  std::int64_t left = size;
  for (const std::int64_t part : sizes) {
    if (part < 0 || part > left) return Error::invalid(fmt::format("split [{}] of {}", fmt::join(sizes, ", "), size));
    left -= part;
  }
  if (left != 0 || static_cast<std::int64_t>(sizes.size()) != parts) {
    return Error::invalid(fmt::format("split [{}] does not give {} parts of {}", fmt::join(sizes, ", "), parts, size));
  }
  return sizes;
}

}  // namespace orrery::workload::import
