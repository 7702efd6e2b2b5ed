#include "elastic/reduce/kernels.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "elastic/reduce/half.h"
#include "elastic/test_oracle.h"

namespace orrery::elastic {
namespace {

TEST(Half, EveryF16ComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const F16 half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      EXPECT_EQ(to_f16(value).bits, bits | 0x200u);
    } else {
      ASSERT_EQ(to_f16(value).bits, bits);
    }
  }
}

TEST(Half, F16HasTheValuesOfItsDefinition) {
  EXPECT_EQ(to_float(F16{0x3c00}), 1.0f);
  EXPECT_EQ(to_float(F16{0xc000}), -2.0f);
  EXPECT_EQ(to_float(F16{0x7bff}), 65504.0f);
  EXPECT_EQ(to_float(F16{0x0001}), 0x1p-24f);
  EXPECT_EQ(to_float(F16{0x7c00}), std::numeric_limits<float>::infinity());
  EXPECT_EQ(to_f16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
}

TEST(Half, EveryBf16ComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bf16 half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    EXPECT_EQ(to_bf16(value).bits, std::isnan(value) ? (bits | 0x40u) : bits);
  }
}

// Between two neighbouring f16 the nearer one is taken, and the even one in the middle.
RC_GTEST_PROP(Half, RoundsToTheNearest, ()) {
  const auto bits = *rc::gen::inRange<std::uint16_t>(0, 0x7bff);
  const double low = to_float(F16{bits}), high = to_float(F16{static_cast<std::uint16_t>(bits + 1)});
  const double middle = (low + high) / 2;
  const float value = static_cast<float>(low + (high - low) * *rc::gen::inRange(0, 1025) / 1024.0);
  const std::uint16_t even = bits % 2 == 0 ? bits : static_cast<std::uint16_t>(bits + 1);
  const std::uint16_t expected = value < middle ? bits : value > middle ? static_cast<std::uint16_t>(bits + 1) : even;
  RC_ASSERT(to_f16(value).bits == expected);
  RC_ASSERT(to_f16(-value).bits == (expected | 0x8000));
}

TEST(Copy, CopiesEveryByteAndNoOther) {
  Random random(1);
  for (const std::size_t bytes : {0, 1, 31, 127, 128, 129, 1000, 4096, 65537}) {
    for (const std::size_t shift : {0, 1, 13}) {
      std::vector<std::uint8_t> from(bytes + 64), to(bytes + 64, 0xaa);
      for (std::uint8_t& byte : from) byte = static_cast<std::uint8_t>(random.below(256));
      std::vector<std::uint8_t> expected = to;
      std::copy_n(from.begin() + 7, bytes, expected.begin() + static_cast<std::ptrdiff_t>(shift));
      copy(to.data() + shift, from.data() + 7, bytes);
      ASSERT_EQ(to, expected) << bytes << " bytes, shifted by " << shift;
    }
  }
}

struct Case {
  DataType type;
  ReduceOp op;
  std::size_t count;
  std::vector<std::vector<std::byte>> inputs;
};

// Bits at random, so that there are NaNs, infinities and numbers of all sizes.
Case make_case() {
  Case made;
  made.type = *rc::gen::elementOf(kDataTypes);
  made.op = *rc::gen::elementOf(kReduceOps);
  made.count = static_cast<std::size_t>(*rc::gen::inRange(0, 300));
  const int inputs = *rc::gen::inRange(1, 6);
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  for (int i = 0; i < inputs; ++i) made.inputs.push_back(random_tensor(random, made.type, made.count, true));
  return made;
}

std::vector<std::byte> run(kernels::Kernel kernel, const Case& of) {
  std::vector<const void*> inputs;
  for (const auto& input : of.inputs) inputs.push_back(input.data());
  std::vector<std::byte> output(of.inputs[0].size());
  void* const to = output.data();
  kernel(inputs.data(), inputs.size(), &to, 1, of.count);
  return output;
}

RC_GTEST_PROP(Kernels, AgreeWithTheOracle, ()) {
  const Case made = make_case();
  RC_ASSERT(same_values(made.type, run(kernels::portable(made.type, made.op), made),
                        combined(made.type, made.op, made.inputs)));
}

RC_GTEST_PROP(Kernels, FastAndPortableOnesGiveTheSame, ()) {
  if (!kernels::has_avx2()) return;
  const Case made = make_case();
  RC_ASSERT(same_values(made.type, run(kernels::portable(made.type, made.op), made),
                        run(kernels::avx2(made.type, made.op), made)));
}

RC_GTEST_PROP(Kernels, WriteAllOutputsAlsoInPlace, ()) {
  Case made = make_case();
  const auto expected = combined(made.type, made.op, made.inputs);
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (auto& input : made.inputs) {
    inputs.push_back(input.data());
    outputs.push_back(input.data());
  }
  reduce(made.type, made.op, inputs, outputs, made.count);
  for (const auto& output : made.inputs) RC_ASSERT(same_values(made.type, output, expected));
}

TEST(Kernels, MinimumAndMaximumKeepNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1, nan, 3}, b = {2, 1, nan};
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    std::vector<float> result(3);
    const void* const inputs[] = {a.data(), b.data()};
    void* const output = result.data();
    reduce(DataType::kF32, op, inputs, {&output, 1}, 3);
    EXPECT_EQ(result[0], op == ReduceOp::kMin ? 1 : 2);
    EXPECT_TRUE(std::isnan(result[1]) && std::isnan(result[2]));
  }
}

TEST(Kernels, HalvesAreRoundedOnce) {
  // 2048 + 1 is 2048 in f16, but 2048 + 1 + 1 is 2050: adding one by one with rounding would lose both ones.
  const std::vector<F16> a = {to_f16(2048)}, b = {to_f16(1)}, c = {to_f16(1)};
  std::vector<F16> result(1);
  const void* const inputs[] = {a.data(), b.data(), c.data()};
  void* const output = result.data();
  reduce(DataType::kF16, ReduceOp::kSum, inputs, {&output, 1}, 1);
  EXPECT_EQ(to_float(result[0]), 2050.0f);
}

}  // namespace
}  // namespace orrery::elastic
