#pragma once
// How many kinds of operators there are, for one-hot inputs.

#include "lab/lab.h"
#include "workload/operator.h"

namespace orrery::lab {

inline constexpr std::size_t kOperatorKinds = static_cast<std::size_t>(workload::OperatorKind::kBinaryCrossEntropy) + 1;

}  // namespace orrery::lab
