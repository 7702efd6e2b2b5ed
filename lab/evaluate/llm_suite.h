#pragma once
// `orrery evaluate llm`: whole iterations of language models on devices that were not measured.
//
// The folder is that of `evaluate operators` with e2e.csv (measured iterations and what others predicted), opgraph/ and
// num_layers.csv. An iteration is the sum of its graph's operators, each predicted from other devices than the one it
// runs on; memory operators move their tensors at 0.85 of the bandwidth. On four devices:
//
//   tp   all-reduces of activations add up with the operators
//   dp   all-reduces of gradients hide behind the backward pass
//   pp   with k micro-batches on p stages (k + p − 1) / p times one micro-batch
//
// Devices of makers of which no operator was measured are corrected by the median ratio on the maker's other devices.
//
// With --test, e2e.csv comes from there; graphs and device figures too, if it has them.
//
// Groups: "training", "inference", "training on DEVICE"…, "distributed training", "fused inference", "other makers",
// and the same cases as others predicted them ("training, published NeuSight"). Intervals: errors on other devices.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_llm_suite(const SuiteInput& input);

}  // namespace orrery::lab
