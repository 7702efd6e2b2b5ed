#pragma once
// The fields of networks that are trained here: ETS's and Driple's.

#include "base/fields.h"
#include "predict/driple/resource_network.h"
#include "predict/neural/sequence_model.h"

namespace orrery::service {

const Fields<predict::SequenceOptions>& sequence_fields();
const Fields<predict::ResourceNetworkOptions>& resource_network_fields();

}  // namespace orrery::service
