#pragma once
// What the learned operator models know about a device: figures of its data sheet, and what of its peak it can hold.
//
// Two facts keep a device below its rated fp32 peak, whatever the kernel:
//
//   issue   a multiprocessor that issues one instruction per cycle to each group of 32 lanes (Ampere consumer parts,
//           Ada, Hopper, Blackwell) spends issue slots on loads and addresses: about 0.78 of the peak is left. Kepler
//           fills 192 lanes only by issuing two instructions at once: about 0.67.
//   power   fp32 work costs an energy per operation that depends on the generation; the board's power divided by it is
//           a rate that can be held. A 70 W T4 holds 70 W / 18 pJ = 3.9 TFLOP/s of its rated 8.1.
//
//   usable peak = min(issue · peak, power / energy)
//
// The energies come from the power and rated peak of boards that hold their clock (V100 PCIe: 250 W / 14 TFLOP/s) and
// from public reports for those that do not. GeForce boards clock about 15 % above what they are rated at.

#include <string>

#include "hardware/device.h"

namespace orrery::predict {

struct DeviceFacts {
  std::string name{};
  double peak = 0;         // fp32 FLOP/s, rated
  double usable_peak = 0;  // fp32 FLOP/s it can hold
  double bandwidth = 0;    // bytes per second, rated
  double sms = 0;
  double l2_bytes = 0;
  double generation = 0;  // 6 Pascal, 7 Volta, 7.5 Turing, 8 Ampere, 9 Hopper…; NaN: none of these
};

// Of the built-in table.
DeviceFacts facts_of(const hardware::Device& device);

// Sets usable_peak and generation from rated figures, and the power and architecture of the built-in table if it has a
// device of this name. One that it does not have keeps its peak.
DeviceFacts with_limits(DeviceFacts rated);

}  // namespace orrery::predict
