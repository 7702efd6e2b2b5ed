#pragma once
// The network of Justus et al. (BigData 2018) on single layers: hyper-parameters of the layer and the sheet of the GPU
// in, log(1 + ms) out. Hidden layers 32-64-128-128-128-128 as published for several GPUs; rate, loss, dropout and the
// rest as kJustus of operator_mlp.h, with fewer steps than the published 300 epochs.

#include "lab/baselines/operator_mlp.h"
#include "lab/lab.h"
#include "lab/methods/layer_rows.h"

namespace orrery::lab {

std::vector<std::string> layer_mlp_names();
void layer_mlp_row(const Layer& layer, const DeviceFacts& device, std::vector<float>& row);

// Learned from the rows `chosen` of the features, with times in milliseconds.
Result<MlpRegression> fit_layer_mlp(const Features& features, std::span<const double> times_ms,
                                    std::span<const std::size_t> chosen, std::uint64_t steps, std::uint64_t seed);

}  // namespace orrery::lab
