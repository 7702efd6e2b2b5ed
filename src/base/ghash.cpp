#include "base/ghash.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/check.h"

namespace orrery {

#if defined(__x86_64__)

// GCC 12 reports the undefined vectors of its own headers.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#define ORRERY_WIDE __attribute__((target("avx512f,avx512bw,vpclmulqdq,pclmul,ssse3")))

namespace {

// Products that were added up and not reduced yet: low, middle and high 128 bits, the middle ones shifted by 64.
struct Product {
  __m128i low, middle, high;
};

ORRERY_WIDE __m128i reversed(__m128i block) {
  return _mm_shuffle_epi8(block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

ORRERY_WIDE void add(Product& sum, __m128i a, __m128i b) {
  sum.low = _mm_xor_si128(sum.low, _mm_clmulepi64_si128(a, b, 0x00));
  sum.high = _mm_xor_si128(sum.high, _mm_clmulepi64_si128(a, b, 0x11));
  sum.middle =
      _mm_xor_si128(sum.middle, _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x01), _mm_clmulepi64_si128(a, b, 0x10)));
}

ORRERY_WIDE __m128i reduced(const Product& sum) {
  const __m128i polynomial = _mm_set_epi64x(static_cast<long long>(0xc200000000000000ULL), 1);
  __m128i low = _mm_xor_si128(sum.low, _mm_slli_si128(sum.middle, 8));
  const __m128i high = _mm_xor_si128(sum.high, _mm_srli_si128(sum.middle, 8));
  for (int i = 0; i < 2; ++i) {
    low = _mm_xor_si128(_mm_shuffle_epi32(low, 0x4e), _mm_clmulepi64_si128(low, polynomial, 0x10));
  }
  return _mm_xor_si128(high, low);
}

ORRERY_WIDE __m128i multiplied(__m128i a, __m128i b) {
  Product product{_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};
  add(product, a, b);
  return reduced(product);
}

// Multiplied by x.
ORRERY_WIDE __m128i doubled(__m128i a) {
  std::uint64_t words[2];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words), a);
  const bool carries = (words[1] >> 63) != 0;
  const std::uint64_t high = (words[1] << 1 | words[0] >> 63) ^ (carries ? 0xc200000000000000ULL : 0);
  const std::uint64_t low = (words[0] << 1) ^ (carries ? 1 : 0);
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}

ORRERY_WIDE __m128i folded(__m512i a) {
  const __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
  return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// The hash after `blocks` more blocks, at most 32; `powers` begins with that power of H.
ORRERY_WIDE __m128i advanced(__m128i hash, const std::byte* data, std::size_t blocks, const std::byte* powers) {
  const __m512i reverse = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  __m512i low = _mm512_setzero_si512(), middle = low, high = low;
  // The hash so far is added to the first block.
  __m512i before = _mm512_zextsi128_si512(hash);
  std::size_t i = 0;
  for (; i + 4 <= blocks; i += 4) {
    __m512i a = _mm512_shuffle_epi8(_mm512_loadu_si512(data + i * Ghash::kBlockBytes), reverse);
    a = _mm512_xor_si512(a, before);
    before = _mm512_setzero_si512();
    const __m512i b = _mm512_loadu_si512(powers + i * Ghash::kBlockBytes);
    low = _mm512_xor_si512(low, _mm512_clmulepi64_epi128(a, b, 0x00));
    high = _mm512_xor_si512(high, _mm512_clmulepi64_epi128(a, b, 0x11));
    middle = _mm512_ternarylogic_epi64(middle, _mm512_clmulepi64_epi128(a, b, 0x01),
                                       _mm512_clmulepi64_epi128(a, b, 0x10), 0x96);
  }
  Product sum{folded(low), folded(middle), folded(high)};
  for (; i < blocks; ++i) {
    __m128i a = reversed(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data + i * Ghash::kBlockBytes)));
    if (i == 0) a = _mm_xor_si128(a, hash);
    add(sum, a, _mm_loadu_si128(reinterpret_cast<const __m128i*>(powers + i * Ghash::kBlockBytes)));
  }
  return reduced(sum);
}

ORRERY_WIDE void make_powers(const Ghash::Block& key, std::span<Ghash::Block> powers) {
  const __m128i h = doubled(reversed(_mm_loadu_si128(reinterpret_cast<const __m128i*>(key.data()))));
  __m128i power = h;
  for (std::size_t i = powers.size(); i-- > 0;) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(powers[i].data()), power);
    power = multiplied(power, h);
  }
}

ORRERY_WIDE Ghash::Block hashed(std::span<const std::span<const std::byte>> pieces,
                                std::span<const Ghash::Block> powers) {
  __m128i hash = _mm_setzero_si128();
  const auto take = [&](const std::byte* data, std::size_t blocks)
                        ORRERY_WIDE { hash = advanced(hash, data, blocks, powers[powers.size() - blocks].data()); };
  std::uint64_t bytes = 0;
  for (std::span<const std::byte> piece : pieces) {
    ORRERY_CHECK(bytes % Ghash::kBlockBytes == 0);
    bytes += piece.size();
    while (piece.size() >= Ghash::kBlockBytes) {
      const std::size_t blocks = std::min(piece.size() / Ghash::kBlockBytes, powers.size());
      take(piece.data(), blocks);
      piece = piece.subspan(blocks * Ghash::kBlockBytes);
    }
    if (piece.empty()) continue;
    Ghash::Block rest{};
    std::copy(piece.begin(), piece.end(), rest.begin());
    take(rest.data(), 1);
  }
  Ghash::Block lengths{};
  for (std::size_t i = 0; i < 8; ++i) lengths[i] = static_cast<std::byte>(8 * bytes >> (8 * (7 - i)));
  take(lengths.data(), 1);
  Ghash::Block result;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(result.data()), reversed(hash));
  return result;
}

}  // namespace

bool Ghash::is_supported() {
  static const bool kIs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("pclmul");
  return kIs;
}

Ghash::Ghash(const Block& key) {
  ORRERY_CHECK(is_supported());
  make_powers(key, powers_);
}

Ghash::Block Ghash::hash(std::span<const std::span<const std::byte>> pieces) const {
  return hashed(pieces, powers_);
}

#else

bool Ghash::is_supported() {
  return false;
}

Ghash::Ghash(const Block&) {
  ORRERY_CHECK(false);
}

Ghash::Block Ghash::hash(std::span<const std::span<const std::byte>>) const {
  return {};
}

#endif

}  // namespace orrery
