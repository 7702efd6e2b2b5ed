#pragma once
// A shuffled order of n samples that needs no list: sample(i) is computed, the same on every machine.
//
// A Feistel network of four rounds over the smallest even number of bits that holds n − 1, keyed by the seed; values of
// n and above are encrypted again until they are below (fewer than four times on average).

#include <cstdint>

namespace orrery::elastic {

class Permutation {
 public:
  // n > 0.
  Permutation(std::uint64_t n, std::uint64_t seed);

  // Which sample is at `position`, below n; each sample at exactly one.
  std::uint64_t sample(std::uint64_t position) const;
  std::uint64_t size() const { return n_; }

 private:
  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t n_;
  int half_bits_;
  std::uint64_t keys_[4];
};

}  // namespace orrery::elastic
