#pragma once
// How the tables of this module compare names.

#include <string>
#include <string_view>

namespace orrery::hardware {

// Lower case, without leading brand words ("NVIDIA", "Tesla", "GeForce"…) and without spaces, dashes, underscores
// and brackets: "Tesla V100-SXM2" and "v100 sxm2" have the same key.
std::string name_key(std::string_view name);

}  // namespace orrery::hardware
