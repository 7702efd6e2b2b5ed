#pragma once
// Seeded, splittable randomness (xoshiro256++ seeded by SplitMix64). The same seed gives the same numbers on every
// machine: no standard-library distribution is involved.
//
// split(key) gives an independent generator that depends only on this generator's seed and the key, so work can be
// handed out in any order without changing its random numbers.

#include <array>
#include <cstdint>
#include <string_view>

namespace orrery {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  Random split(std::uint64_t key) const;
  Random split(std::string_view key) const;

  std::uint64_t next();
  double uniform();                         // [0, 1)
  double uniform(double low, double high);  // [low, high)
  std::uint64_t below(std::uint64_t n);     // {0 … n-1}, unbiased; n > 0
  double normal();                          // mean 0, variance 1
  double exponential(double mean);

  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
};

// Mixes 64 bits so that neighbouring inputs give unrelated outputs.
inline std::uint64_t mix64(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}
// FNV-1a; stable over versions, so it may be stored.
std::uint64_t hash64(std::string_view text);

}  // namespace orrery
