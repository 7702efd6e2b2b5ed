#pragma once
// For tests: tensors of any type, and the expected results of collectives on them, element by element in one thread.

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "elastic/reduce/half.h"
#include "elastic/tensor.h"

namespace orrery::elastic {

using TensorBytes = std::vector<std::byte>;

// Any bits if `wild`; otherwise small whole numbers, which every order of adding gives exactly.
inline TensorBytes random_tensor(Random& random, DataType type, std::size_t count, bool wild) {
  TensorBytes bytes(count * element_bytes(type));
  if (wild) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return bytes;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value); };
    const int value = static_cast<int>(random.below(9)) - 4;
    switch (type) {
      case DataType::kF16:
        put(to_f16(static_cast<float>(value)));
        break;
      case DataType::kBf16:
        put(to_bf16(static_cast<float>(value)));
        break;
      case DataType::kF32:
        put(static_cast<float>(value));
        break;
      case DataType::kF64:
        put(static_cast<double>(value));
        break;
      case DataType::kI8:
        put(static_cast<std::int8_t>(value));
        break;
      case DataType::kI16:
        put(static_cast<std::int16_t>(value));
        break;
      case DataType::kI32:
        put(static_cast<std::int32_t>(value));
        break;
      case DataType::kI64:
        put(static_cast<std::int64_t>(value));
        break;
    }
  }
  return bytes;
}

namespace oracle {

// 128-bit arithmetic cut to the type is wrap-around arithmetic.
template <class Value, class Wide>
Wide apply(ReduceOp op, Wide a, Wide b) {
  switch (op) {
    case ReduceOp::kSum:
      return static_cast<Wide>(static_cast<Value>(a + b));
    case ReduceOp::kProduct:
      return static_cast<Wide>(static_cast<Value>(a * b));
    case ReduceOp::kMin:
      if (a != a || b != b) return a + b;
      return a < b ? a : b;
    case ReduceOp::kMax:
      if (a != a || b != b) return a + b;
      return a > b ? a : b;
  }
  return a;
}

template <class Stored, class Value, class Wide, class Read, class Write>
TensorBytes combine(ReduceOp op, const std::vector<TensorBytes>& inputs, Read read, Write write) {
  TensorBytes result(inputs[0].size());
  for (std::size_t at = 0; at < result.size(); at += sizeof(Stored)) {
    Wide sum{};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      Stored stored;
      std::memcpy(&stored, inputs[k].data() + at, sizeof stored);
      sum = k == 0 ? static_cast<Wide>(read(stored)) : apply<Value, Wide>(op, sum, static_cast<Wide>(read(stored)));
    }
    const Stored out = write(sum);
    std::memcpy(result.data() + at, &out, sizeof out);
  }
  return result;
}

template <class Value, class Wide>
TensorBytes combine_plain(ReduceOp op, const std::vector<TensorBytes>& inputs) {
  return combine<Value, Value, Wide>(
      op, inputs, [](Value value) { return value; }, [](Wide value) { return static_cast<Value>(value); });
}

}  // namespace oracle

inline TensorBytes combined(DataType type, ReduceOp op, const std::vector<TensorBytes>& inputs) {
  __extension__ typedef __int128 Whole;
  switch (type) {
    case DataType::kF16:
      return oracle::combine<F16, float, float>(
          op, inputs, [](F16 half) { return to_float(half); }, [](float value) { return to_f16(value); });
    case DataType::kBf16:
      return oracle::combine<Bf16, float, float>(
          op, inputs, [](Bf16 half) { return to_float(half); }, [](float value) { return to_bf16(value); });
    case DataType::kF32:
      return oracle::combine_plain<float, float>(op, inputs);
    case DataType::kF64:
      return oracle::combine_plain<double, double>(op, inputs);
    case DataType::kI8:
      return oracle::combine_plain<std::int8_t, Whole>(op, inputs);
    case DataType::kI16:
      return oracle::combine_plain<std::int16_t, Whole>(op, inputs);
    case DataType::kI32:
      return oracle::combine_plain<std::int32_t, Whole>(op, inputs);
    case DataType::kI64:
      return oracle::combine_plain<std::int64_t, Whole>(op, inputs);
  }
  return {};
}

// Equal bits, except that all NaNs are equal, and so are both zeros (it does not matter which of two equal values a
// minimum takes).
inline bool same_values(DataType type, const TensorBytes& a, const TensorBytes& b) {
  if (a == b) return true;
  if (a.size() != b.size()) return false;
  const auto same = [&](auto stored, auto read) {
    for (std::size_t at = 0; at < a.size(); at += sizeof stored) {
      auto other = stored;
      std::memcpy(&stored, a.data() + at, sizeof stored);
      std::memcpy(&other, b.data() + at, sizeof other);
      const auto x = read(stored), y = read(other);
      if (x != y && !(x != x && y != y)) return false;
    }
    return true;
  };
  switch (type) {
    case DataType::kF16:
      return same(F16{}, [](F16 half) { return to_float(half); });
    case DataType::kBf16:
      return same(Bf16{}, [](Bf16 half) { return to_float(half); });
    case DataType::kF32:
      return same(0.0f, [](float value) { return value; });
    case DataType::kF64:
      return same(0.0, [](double value) { return value; });
    default:
      return false;
  }
}

}  // namespace orrery::elastic
