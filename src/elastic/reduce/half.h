#pragma once
// The two 16-bit float formats as bits, to and from 32-bit floats. Rounding is to nearest, ties to even; a NaN stays a
// NaN (quiet, upper payload bits kept), as the processor's own conversion does.
//
// Internal linkage, and builtins instead of the standard library: files that are compiled for different processors
// include this, and the linker must not give one of them the other's code.

#include <cstdint>

namespace orrery::elastic {

struct F16 {
  std::uint16_t bits = 0;
};
struct Bf16 {
  std::uint16_t bits = 0;
};

static inline float to_float(F16 half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (half.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = half.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, magnitude) | sign);
  }
  if (exponent == 31) {
    const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return __builtin_bit_cast(float, sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
}

static inline F16 to_f16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const auto half = [sign](std::uint32_t rest) { return F16{static_cast<std::uint16_t>(sign | rest)}; };
  if (magnitude > 0x7f800000u) return half(0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return half(0x7c00u);  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {                       // below 2^-14: subnormal
    // Adding 0.5 puts the units of the result, 2^-24, at the end of the mantissa; the addition rounds.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    return half(__builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000u);
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return half((magnitude - (112u << 23) + 0xfffu + odd) >> 13);
}

static inline float to_float(Bf16 half) {
  const std::uint32_t bits = static_cast<std::uint32_t>(half.bits) << 16;
  return __builtin_bit_cast(float, bits);
}

static inline Bf16 to_bf16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return Bf16{static_cast<std::uint16_t>(is_nan ? quiet : rounded)};
}

}  // namespace orrery::elastic
