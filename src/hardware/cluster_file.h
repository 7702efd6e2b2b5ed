#pragma once
// Clusters from YAML files. docs/reference/formats/README.md describes the fields; examples/cluster.yaml is one.

#include <string_view>

#include "base/result.h"
#include "hardware/machine.h"

namespace orrery::hardware {

// Machines of one group, and devices of one cluster, are limited to kDevicesMax (placement.h).
inline constexpr std::size_t kMachineGroupsMax = 10'000;

// Errors read `file:line: field: message`.
Result<Cluster> read_cluster(std::string_view yaml, std::string_view file);

}  // namespace orrery::hardware
