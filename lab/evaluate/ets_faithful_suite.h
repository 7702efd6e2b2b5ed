#pragma once
// Trains the published ETS network (predict/neural/sequence_model.h) on launch traces and scores it as ETS did:
// `orrery evaluate ets-faithful`. One network per GPU.
//
// Without a test folder one of the five folds of ets-p1 is left out and scored (ETS's own protocol: four fifths of the
// files at random). One in ten of the traces learned from is kept aside to calibrate intervals. Overlapping traces are
// not learned from and scored apart. With a folder to keep things in, a training that was killed goes on from there,
// and GPU.model is read instead of trained again when it was made from the same traces and options.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_ets_faithful_suite(const SuiteInput& input);

}  // namespace orrery::lab
