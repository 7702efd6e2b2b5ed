#pragma once
// GHASH, the hash of AES-GCM (NIST SP 800-38D), of data that is signed and not encrypted, by carry-less multiplication of
// wide vectors: several times as fast as OpenSSL 3.0, which multiplies block by block.
//
//   hash = X₁·Hⁿ + X₂·Hⁿ⁻¹ + … + Xₙ·H over GF(2¹²⁸), 32 blocks at a time with one reduction
//
// Blocks are taken byte-reversed and H is multiplied by x once, so that products are reduced in two steps without
// shifts (the POLYVAL of RFC 8452, appendix A).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace orrery {

class Ghash {
 public:
  static constexpr std::size_t kBlockBytes = 16;
  using Block = std::array<std::byte, kBlockBytes>;

  // Whether this processor has the instructions.
  static bool is_supported();

  // `key` is the block of zeros, encrypted. Precondition: is_supported().
  explicit Ghash(const Block& key);

  // Of the pieces one after the other, with their length as GCM adds it. All but the last are whole blocks.
  Block hash(std::span<const std::span<const std::byte>> pieces) const;

 private:
  static constexpr std::size_t kAtOnce = 32;
  alignas(64) std::array<Block, kAtOnce> powers_{};  // of H, the highest first
};

}  // namespace orrery
