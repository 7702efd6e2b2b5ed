#pragma once
// `orrery evaluate operators`: operators on devices that were not measured.
//
// Without --test every device of the training folder is left out in turn and its rows are predicted from the other
// devices. With --test the devices of that folder which the training folder does not have are predicted; the others are
// reported apart ("seen devices").
//
// Groups, per class of operators ("bmm", "linear", "elementwise", "softmax", "layer norm"):
//   bmm                   sizes of real models, fitted on all rows of the other devices
//   bmm, random sizes     the random sizes of the devices left out
//   bmm, fitted on random sizes   as the first, but fitted on the random sizes of the other devices only, which is what
//                         the published figures did
//   bmm, published split  the same on devices of which only sizes of real models were measured: the one such device of
//                         the shared data is one the published figures are about
//   bmm, wave scaling     from the time of the same operator on the device of the nearest generation that has it
//   bmm, roofline         the physical estimate and an overhead, nothing learned
//   bmm, log-linear       ridge regression on logarithms of work, bytes and the device's figures (after Li et al. 2023)
//   bmm on DEVICE         the first, by device

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_operators_suite(const SuiteInput& input);

}  // namespace orrery::lab
