#pragma once
// How to wait for another process: look again at once, let others run, or sleep.
//
// With a core for every rank, looking again is fastest: news arrives within a microsecond and sleeping costs several.
// With fewer cores than ranks, whoever we wait for may need our core, so we give it away at once. In both cases a wait
// that lasts ends in sleep: training processes have better uses for a core.

#include <cstdint>

namespace orrery::elastic {

enum class Pause { kSpin, kYield, kSleep };

class Patience {
 public:
  // `ranks` processes of the job share `cores` cores.
  Patience(int ranks, int cores);

  // What to do when nothing has happened for `looks` looks.
  Pause after(std::uint32_t looks) const {
    if (looks < spins_) return Pause::kSpin;
    return looks < spins_ + yields_ ? Pause::kYield : Pause::kSleep;
  }

 private:
  std::uint32_t spins_;
  std::uint32_t yields_;
};

// Cores this process may run on.
int available_cores();
// Tells the processor that we only wait.
void relax();
void yield_core();

}  // namespace orrery::elastic
