#pragma once
// Values as Python writes them, as JSON: [1, 'a'], {"x": 2.5}, True, None. At most kDepthMax levels deep.

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace orrery::predict {

Result<nlohmann::json> parse_python_literal(std::string_view text);

}  // namespace orrery::predict
