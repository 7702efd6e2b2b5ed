#pragma once
// How to wait for another process: spin, yield, or sleep.
//
// With a core for every rank, spinning is fastest: news arrives within a microsecond, and sleeping costs several. With
// fewer cores than ranks, the process that we wait for may need our core, so we yield at once. In both cases a long
// wait ends in sleep, because training processes have better uses for a core.

#include <cstdint>

namespace orrery::elastic {

class Backoff {
 public:
  // `ranks` processes of the job share `cores` cores.
  Backoff(int ranks, int cores);

  // Whether it is time to sleep, when nothing has happened for `looks` looks.
  bool is_over(std::uint32_t looks) const { return looks >= spins_ + yields_; }
  // Spins or yields once. Precondition: !is_over(looks).
  void spend(std::uint32_t looks) const;

 private:
  std::uint32_t spins_;
  std::uint32_t yields_;
};

// Cores this process may run on.
int available_cores();

}  // namespace orrery::elastic
