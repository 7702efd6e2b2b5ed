#pragma once
// What the learned operator models know about a device: values of its data sheet, and the share of its peak that it can
// sustain.
//
// Two facts keep a device below its rated fp32 peak, with any kernel:
//
//   issue   a multiprocessor that issues one instruction per cycle to each group of 32 lanes (Ampere consumer parts,
//           Ada, Hopper, Blackwell) spends issue slots on loads and addresses: about 0.78 of the peak is left. Kepler
//           fills 192 lanes only by issuing two instructions at once: about 0.67.
//   power   the rated power and peak of a board that is not short of power give the energy of one operation on that
//           kind of chip (RTX 2080: 215 W / 10.07 TFLOP/s = 21.4 pJ). A board with the share r of the power its peak
//           would need clocks lower, at a lower voltage: it holds r^0.6 of its peak down to r = 0.6, where the voltage
//           cannot fall further, and in proportion to the power below. A 70 W T4 (r = 0.4) holds half its peak.
//
//   usable peak = peak · min(issue, held(r))
//
// GeForce boards clock about 15 % above what they are rated at.
//
// The energies are rated values. The exponent, the floor and the issue shares are not: they are round numbers from
// general knowledge of such chips, and the exponent and the floor were settled on measured A100 and T4 boards that the
// suites also score. For those two, leaving the device out does not leave this law out.

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

// Sets usable_peak and generation from rated values, and the power and architecture of the built-in table if it has a
// device of this name. One that it does not have keeps its peak.
DeviceFacts with_limits(DeviceFacts rated);

}  // namespace orrery::predict
