// The kernels themselves. Included by kernels_portable.cpp and kernels_avx2.cpp, which are compiled for different
// processors; therefore everything here has internal linkage and nothing of the standard library is instantiated that
// the linker could share between the two. ORRERY_KERNEL_TABLE is the name of the function that gives them out.

#include <cstddef>
#include <cstdint>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "elastic/reduce/half.h"
#include "elastic/reduce/kernels.h"

namespace orrery::elastic::kernels {
namespace {

// 16-bit floats are widened in groups of this many.
constexpr std::size_t kGroup = 32;

struct HalfF16 {
  using Stored = F16;
#if defined(__F16C__)
  static void widen(const Stored* from, float* to) {
    for (std::size_t i = 0; i < kGroup; i += 8) {
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    }
  }
  static void narrow(const float* from, Stored* to) {
    for (std::size_t i = 0; i < kGroup; i += 8) {
      const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
  }
#else
  static void widen(const Stored* from, float* to) {
    for (std::size_t i = 0; i < kGroup; ++i) to[i] = to_float(from[i]);
  }
  static void narrow(const float* from, Stored* to) {
    for (std::size_t i = 0; i < kGroup; ++i) to[i] = to_f16(from[i]);
  }
#endif
  static Stored narrow_one(float value) {
    return to_f16(value);
  }
};

struct HalfBf16 {
  using Stored = Bf16;
  static void widen(const Stored* from, float* to) {
    for (std::size_t i = 0; i < kGroup; ++i) to[i] = to_float(from[i]);
  }
  static void narrow(const float* from, Stored* to) {
    for (std::size_t i = 0; i < kGroup; ++i) to[i] = to_bf16(from[i]);
  }
  static Stored narrow_one(float value) { return to_bf16(value); }
};

// Each works on scalars and vectors alike; b != b tests for NaN.
struct Sum {
  template <class Value>
  static void apply(Value& a, const Value& b) {
    a = static_cast<Value>(a + b);
  }
};
struct Product {
  template <class Value>
  static void apply(Value& a, const Value& b) {
    a = static_cast<Value>(a * b);
  }
  // 16-bit numbers would be multiplied as int and could overflow it.
  static void apply(std::uint16_t& a, const std::uint16_t& b) { a = static_cast<std::uint16_t>(1u * a * b); }
};
struct Min {
  template <class Value>
  static void apply(Value& a, const Value& b) {
    a = (b < a) | (b != b) ? b : a;
  }
};
struct Max {
  template <class Value>
  static void apply(Value& a, const Value& b) {
    a = (b > a) | (b != b) ? b : a;
  }
};

// Elements that are combined as they are stored: four vectors at a time, which stay in registers.
template <class Element, class Op>
void combine(const void* const* inputs, std::size_t inputs_count, void* const* outputs, std::size_t outputs_count,
             std::size_t count) {
  typedef Element Vector __attribute__((vector_size(32)));
  constexpr std::size_t kLanes = sizeof(Vector) / sizeof(Element);
  const auto load = [](const void* base, std::size_t at, Vector& to) {
    __builtin_memcpy(&to, static_cast<const Element*>(base) + at, sizeof(Vector));
  };
  const auto store = [](const Vector& from, void* base, std::size_t at) {
    __builtin_memcpy(static_cast<Element*>(base) + at, &from, sizeof(Vector));
  };
  std::size_t at = 0;
  for (; at + 4 * kLanes <= count; at += 4 * kLanes) {
    Vector a, b, c, d, next;
    load(inputs[0], at, a);
    load(inputs[0], at + kLanes, b);
    load(inputs[0], at + 2 * kLanes, c);
    load(inputs[0], at + 3 * kLanes, d);
    for (std::size_t k = 1; k < inputs_count; ++k) {
      load(inputs[k], at, next);
      Op::apply(a, next);
      load(inputs[k], at + kLanes, next);
      Op::apply(b, next);
      load(inputs[k], at + 2 * kLanes, next);
      Op::apply(c, next);
      load(inputs[k], at + 3 * kLanes, next);
      Op::apply(d, next);
    }
    for (std::size_t k = 0; k < outputs_count; ++k) {
      store(a, outputs[k], at);
      store(b, outputs[k], at + kLanes);
      store(c, outputs[k], at + 2 * kLanes);
      store(d, outputs[k], at + 3 * kLanes);
    }
  }
  for (; at < count; ++at) {
    Element a = static_cast<const Element*>(inputs[0])[at];
    for (std::size_t k = 1; k < inputs_count; ++k) Op::apply(a, static_cast<const Element*>(inputs[k])[at]);
    for (std::size_t k = 0; k < outputs_count; ++k) static_cast<Element*>(outputs[k])[at] = a;
  }
}

// Elements that are combined as 32-bit floats.
template <class Half, class Op>
void combine_halves(const void* const* inputs, std::size_t inputs_count, void* const* outputs,
                    std::size_t outputs_count, std::size_t count) {
  using Stored = typename Half::Stored;
  std::size_t at = 0;
  for (; at + kGroup <= count; at += kGroup) {
    float sum[kGroup], next[kGroup];
    Half::widen(static_cast<const Stored*>(inputs[0]) + at, sum);
    for (std::size_t k = 1; k < inputs_count; ++k) {
      Half::widen(static_cast<const Stored*>(inputs[k]) + at, next);
      for (std::size_t i = 0; i < kGroup; ++i) Op::apply(sum[i], next[i]);
    }
    for (std::size_t k = 0; k < outputs_count; ++k) Half::narrow(sum, static_cast<Stored*>(outputs[k]) + at);
  }
  for (; at < count; ++at) {
    float sum = to_float(static_cast<const Stored*>(inputs[0])[at]);
    for (std::size_t k = 1; k < inputs_count; ++k) Op::apply(sum, to_float(static_cast<const Stored*>(inputs[k])[at]));
    for (std::size_t k = 0; k < outputs_count; ++k) static_cast<Stored*>(outputs[k])[at] = Half::narrow_one(sum);
  }
}

template <class Half>
Kernel kernel_of_half(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return combine_halves<Half, Sum>;
    case ReduceOp::kProduct:
      return combine_halves<Half, Product>;
    case ReduceOp::kMin:
      return combine_halves<Half, Min>;
    case ReduceOp::kMax:
      return combine_halves<Half, Max>;
  }
  return nullptr;
}

// `Wrapping` is the unsigned type of the same size for integers: their sums and products wrap around.
template <class Element, class Wrapping = Element>
Kernel kernel_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return combine<Wrapping, Sum>;
    case ReduceOp::kProduct:
      return combine<Wrapping, Product>;
    case ReduceOp::kMin:
      return combine<Element, Min>;
    case ReduceOp::kMax:
      return combine<Element, Max>;
  }
  return nullptr;
}

}  // namespace

Kernel ORRERY_KERNEL_TABLE(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kF16:
      return kernel_of_half<HalfF16>(op);
    case DataType::kBf16:
      return kernel_of_half<HalfBf16>(op);
    case DataType::kF32:
      return kernel_of<float>(op);
    case DataType::kF64:
      return kernel_of<double>(op);
    case DataType::kI8:
      return kernel_of<std::int8_t, std::uint8_t>(op);
    case DataType::kI16:
      return kernel_of<std::int16_t, std::uint16_t>(op);
    case DataType::kI32:
      return kernel_of<std::int32_t, std::uint32_t>(op);
    case DataType::kI64:
      return kernel_of<std::int64_t, std::uint64_t>(op);
  }
  return nullptr;
}

}  // namespace orrery::elastic::kernels
