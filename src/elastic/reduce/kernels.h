#pragma once
// Combining n inputs element by element, in the order in which they are given:
//
//   output[i] = (((input_0[i] ∘ input_1[i]) ∘ input_2[i]) … )
//
// 16-bit floats are combined as 32-bit floats and rounded once, at the end. Because the order is fixed and one rounding
// rule holds, every algorithm that gives inputs in rank order has the same result to the last bit.
//
// Cost: n reads and m writes of memory per element, no temporary. Uses AVX2 where the processor has it; both versions
// give the same bits (but for which NaN a NaN is).

#include <span>

#include "elastic/tensor.h"

namespace orrery::elastic {

inline constexpr std::size_t kReduceInputsMax = 64;

// Writes the combination of `inputs` to every one of `outputs`. An output may be the same memory as an input, but must
// not overlap one otherwise. 1 to kReduceInputsMax inputs; any number of outputs up to that.
void reduce(DataType type, ReduceOp op, std::span<const void* const> inputs, std::span<void* const> outputs,
            std::size_t count);

// Copies memory that does not overlap. It is for tensors: on many processors the copy of the C library, a single string
// instruction, has a fraction of the rate of vectors when another core wrote the memory.
void copy(void* to, const void* from, std::size_t bytes);

namespace kernels {

using Kernel = void (*)(const void* const* inputs, std::size_t inputs_count, void* const* outputs,
                        std::size_t outputs_count, std::size_t count);

// The two builds of the same source; avx2() may only be run where has_avx2().
Kernel portable(DataType type, ReduceOp op);
Kernel avx2(DataType type, ReduceOp op);
bool has_avx2();

}  // namespace kernels

}  // namespace orrery::elastic
