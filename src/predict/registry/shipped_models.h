#pragma once
// The models in the program itself: every file of models/, byte for byte (models/README.md says how they were made).

#include <span>
#include <string_view>

namespace orrery::predict {

std::span<const std::string_view> shipped_models();

}  // namespace orrery::predict
