#pragma once
// `orrery evaluate polimi`: whole training runs and single layers, measured by Politecnico di Milano, where their
// slides report how far their own regressions were off (Gianniti, Zhang, Ardagna; SBAC-PAD 2018, CLOSER 2019).
//
// The folder holds NETWORK_FRAMEWORK.csv, extrapolation_P_*.csv and extrapolation_N_resnet_GPUS.csv (polimi_runs.h):
//
//   batch         the largest batch of every network, framework, GPU and number of GPUs, from smaller ones
//   GPUs          the largest number of GPUs, from smaller ones
//   new GPU       the GTX 1080 Ti from three slower GPUs, one or two at a time: the runs of extrapolation_P
//   inner modules networks of more modules than 4, 5, 6 and 8
//
// Each is answered by a run law (scaling/run_law.h) whose form is the one that answered the same question best inside
// what is known: its own largest batch, number of GPUs, modules or fastest GPU held back. For the new GPU the machines'
// part of the form is chosen for all networks, the network's own part for each (choose_forms()). Intervals: the errors
// on other networks; for the new GPU, whose runs nobody may have seen, those on the fastest known one held back. "…,
// over cells" is about the mean errors of cells (a network, framework, GPU and number of GPUs), which is what the
// slides give.
//
// A folder with vgg16_BOARD.csv holds layers (polimi_layers.h). With --test, what is predicted comes from there.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_polimi_suite(const SuiteInput& input);

}  // namespace orrery::lab
