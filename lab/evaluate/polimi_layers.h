#pragma once
// Single layers of VGG-16 on three small boards, for `orrery evaluate polimi`.
//
// A file vgg16_BOARD.csv has a row per reading: Layer, Hf, Wf, Cin, Cout, FLOPS, Time (seconds). The time of a layer is
// the median of its readings: those of short layers scatter over a factor of a hundred. Every layer of every board is
// left out in turn; with --test the layers asked about are the test folder's.
//
// Groups: "layer, BOARD" (layerwise/layer_times.h), "layer, BOARD, own layers only", and "layer, BOARD, FLOPs only":
// t = b0 + b1 · FLOPs by least squares on relative errors, fitted on the board's same layers.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"
#include "lab/methods/layer_times.h"

namespace orrery::lab {

bool is_layer_file(std::string_view name);
// Of the board; layers by their number. Any text gives layers or an error that names the line.
Result<std::vector<LayerTime>> parse_board_layers(std::string_view csv, const std::string& board);

Result<std::vector<Case>> layer_cases(const SuiteInput& input);

}  // namespace orrery::lab
