#pragma once
// The options of networks that are trained here: ETS's and Driple's.

#include "cli/command.h"
#include "predict/driple/resource_network.h"
#include "predict/neural/sequence_model.h"

namespace orrery::cli {

// --structure, --layers, --width, --stride, --loss, --falling-rate.
std::vector<OptionRecord> sequence_records();
predict::SequenceOptions sequence_options(const OptionValues& options);

// --graph-layer, --readout, --depth, --grouping, --groups, --group-rule.
std::vector<OptionRecord> resource_records();
predict::ResourceNetworkOptions resource_options(const OptionValues& options);

}  // namespace orrery::cli
