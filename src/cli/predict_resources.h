#pragma once
// `orrery predict --resources`: what a training uses of GPU, memory and network, by Driple's network.

#include "cli/command.h"

namespace orrery::cli {

// --resources, --frequencies, --groups, --group-seed, --node-device, --maxima.
std::vector<OptionRecord> resource_question_options();

// With --resources: by the file of --predictor, which `orrery fit --form driple` made, or for a TensorFlow 1.x GraphDef by
// the weights that Driple published.
Status predict_resources(Context& context, const OptionValues& options);

}  // namespace orrery::cli
