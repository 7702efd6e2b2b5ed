#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace orrery {

std::uint64_t hash64(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

Random::Random(std::uint64_t seed) : seed_(seed) {
  std::uint64_t value = seed;
  for (auto& word : state_) {
    word = mix64(value);
    value += 0x9e3779b97f4a7c15ULL;
  }
}

Random Random::split(std::uint64_t key) const {
  return Random(mix64(seed_ ^ mix64(key ^ 0xd1b54a32d192ed03ULL)));
}

Random Random::split(std::string_view key) const {
  return split(hash64(key));
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

std::uint64_t Random::below(std::uint64_t n) {
  ORRERY_CHECK(n > 0);
  const std::uint64_t smallest_accepted = (0 - n) % n;
  while (true) {
    const std::uint64_t value = next();
    if (value >= smallest_accepted) return value % n;
  }
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Random::exponential(double mean) {
  return -mean * std::log(1 - uniform());
}

}  // namespace orrery
