#pragma once
// Small operations: every announcement carries the rank's whole tensor, and every rank computes the result itself.
//
// There is one step. Each rank writes S bytes once and reads (n−1)·S; for small S no algorithm is faster, because no
// rank waits twice. S is one rank's tensor in bytes, n the number of ranks.

#include <cstddef>
#include <span>

#include "elastic/collectives/buffers.h"

namespace orrery::elastic {

// What rank `rank` announces with the operation: its tensor, or nothing if no rank reads it.
std::span<const std::byte> inline_payload(const Descriptor& descriptor, int rank, const Buffers& buffers);

// Computes the result of `rank` once the payloads of all ranks have arrived. Payloads must have the size of
// inline_payload().
void finish_inlined(const Descriptor& descriptor, int rank, std::span<const std::span<const std::byte>> payloads,
                    const Buffers& buffers);

// How many bytes rank `rank` announces.
std::uint64_t inline_bytes(const Descriptor& descriptor, int rank);

}  // namespace orrery::elastic
