#pragma once
// How many kinds of operators there are, for one-hot inputs.

#include "workload/operator.h"

namespace orrery::predict {

inline constexpr std::size_t kOperatorKinds = static_cast<std::size_t>(workload::OperatorKind::kBinaryCrossEntropy) + 1;

}  // namespace orrery::predict
