#pragma once
// A shuffled order of n samples without a stored list: sample(i) is computed, the same on every machine.
//
// It is a Feistel network of four rounds over the smallest even number of bits that holds n − 1, keyed by the seed;
// values of n and above are encrypted again until they are below n (fewer than four times on average).

#include <cstdint>

namespace orrery::elastic {

class Permutation {
 public:
  // n > 0.
  Permutation(std::uint64_t n, std::uint64_t seed);

  // The sample at `position`, which is below n; each sample is at exactly one position.
  std::uint64_t sample(std::uint64_t position) const;
  std::uint64_t size() const { return n_; }

 private:
  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t n_;
  int half_bits_;
  std::uint64_t keys_[4];
};

}  // namespace orrery::elastic
