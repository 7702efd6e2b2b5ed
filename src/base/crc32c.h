#pragma once
// CRC-32C (Castagnoli), the checksum of iSCSI and ext4: it finds every error of up to 32 neighbouring bits. It uses the
// processor's instruction where there is one, some 8 bytes per nanosecond and a half.

#include <cstddef>
#include <cstdint>
#include <span>

namespace orrery {

// Of `bytes` that follow those with the checksum `before`; 0 at the beginning.
std::uint32_t crc32c(std::uint32_t before, std::span<const std::byte> bytes);
// The same, without the instruction.
std::uint32_t crc32c_portable(std::uint32_t before, std::span<const std::byte> bytes);

}  // namespace orrery
