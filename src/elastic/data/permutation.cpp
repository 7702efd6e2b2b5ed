#include "elastic/data/permutation.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/random.h"

namespace orrery::elastic {

Permutation::Permutation(std::uint64_t n, std::uint64_t seed) : n_(n) {
  ORRERY_CHECK(n > 0);
  half_bits_ = std::max(1, (static_cast<int>(std::bit_width(n - 1)) + 1) / 2);
  Random random(seed);
  for (std::uint64_t& key : keys_) key = random.next();
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (1ULL << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_, right = value & mask;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mix64(right ^ key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::sample(std::uint64_t position) const {
  ORRERY_CHECK(position < n_);
  do position = encrypt(position);
  while (position >= n_);
  return position;
}

}  // namespace orrery::elastic
