#pragma once
// Reads gzip files.

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace orrery {

bool is_gzip(std::string_view bytes);

// The content; an error if it is damaged, cut short or longer than `limit`.
Result<std::string> gunzip(std::string_view compressed, Bytes limit);
// For tests and writers.
std::string gzip(std::string_view content);

}  // namespace orrery
