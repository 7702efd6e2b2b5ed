#pragma once
// `orrery evaluate transfer`: times of layers on a device of which few were measured, with and without what was learned
// on another device (justus_layers).
//
// The source is the device with the most rows, of equal ones the last by name. Of every other device n rows are drawn
// at random, the rest is scored:
//
//   scratch   a regression on the roofline (time_regression.h) learned from the n rows alone
//   transfer  the source's regression as it is; the n rows teach how much slower the device starts and computes, and a
//             small regression (a tenth of the trees) what is left
//   transfer from all   the same with the regressions of all other devices
//
// This is the freezing Driple describes, on trees: what the source taught stays, a small last part is learned anew.
// Rows tell the error and, as fit_ms, the mean time of learning for one device. The notes compare what the claim is
// about: the time and the rows that transfer needs to be no worse than learning from scratch with the most rows.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_transfer_suite(const SuiteInput& input);

}  // namespace orrery::lab
