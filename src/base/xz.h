#pragma once
// Reads xz files.

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace orrery {

// The content; an error if it is damaged, cut short or longer than `limit`.
Result<std::string> unxz(std::string_view compressed, Bytes limit);
// For tests.
std::string xz(std::string_view content);

}  // namespace orrery
