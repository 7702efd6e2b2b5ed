#pragma once
// What callers of a session ask for, as descriptors and memory; and what cannot be asked for.

#include <array>
#include <span>

#include "elastic/collectives/buffers.h"

namespace orrery::elastic {

inline constexpr std::size_t kDigestBytes = 16;
// Of any bytes: what a consensus compares.
std::array<std::byte, kDigestBytes> digest(std::span<const std::byte> bytes);

// The result takes the tensor's place.
Buffers in_place(const TensorView& tensor);
// kSum and root 0 where they mean nothing, so that descriptions can be compared.
Descriptor describe(Collective collective, const ConstTensorView& tensor, ReduceOp op = ReduceOp::kSum, int root = 0);

Status check_root(int root, int ranks);
// Whether `all` has room for the tensors of all ranks.
Status check_output(const ConstTensorView& tensor, const TensorView& all, int ranks);

}  // namespace orrery::elastic
