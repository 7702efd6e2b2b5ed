#pragma once
// JSON as the tree that YAML becomes too (yaml.h), so that one reader checks both. Scalars are kept as written; JSON has
// no lines here.
//
// Text comes from strangers: size, depth and number of values are limited as in YAML, and keys are unique.

#include "base/yaml.h"

namespace orrery {

Result<YamlValue> parse_json(std::string_view text);

}  // namespace orrery
