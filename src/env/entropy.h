#pragma once
// Bytes that cannot be guessed, for secrets and challenges. Simulated ones follow from a seed.

#include <string>

#include "base/random.h"

namespace orrery::env {

class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual std::string bytes(std::size_t count) = 0;
};

class RealEntropy final : public Entropy {
 public:
  std::string bytes(std::size_t count) override;
};

class SimEntropy final : public Entropy {
 public:
  explicit SimEntropy(std::uint64_t seed = 1) : random_(seed) {}
  std::string bytes(std::size_t count) override;

 private:
  Random random_;
};

}  // namespace orrery::env
