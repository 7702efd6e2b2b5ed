#pragma once
// `orrery evaluate layers`: times of single layers on devices that were not measured.
//
// The folder has conv_DEVICE.csv.gz and dense_DEVICE.csv.gz. Without --test every device is left out in turn; with it
// the devices of the test folder are predicted from the others.
//
// Groups: "conv" and "dense" over all devices, "conv on K40" and so on by device; "conv, physical estimate alone" has
// nothing learned. How long the host takes to launch a layer belongs to the machine, not to the device, and decides the
// time of small layers: "…, host known" corrects the predicted overhead by the median ratio of 20 forward passes with
// the least work on the device, which are then not scored.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_layers_suite(const SuiteInput& input);

}  // namespace orrery::lab
