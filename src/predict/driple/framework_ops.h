#pragma once
// What TensorFlow 1.x runs for our operators, by name: the nearest single operator forwards and backwards. Driple's
// shares are those of TensorFlow's operators.

#include <string_view>

#include "workload/operator.h"
#include "workload/optimizer.h"

namespace orrery::predict {

struct FrameworkOps {
  std::string_view forward, backward;
};

FrameworkOps framework_ops(workload::OperatorKind kind);
std::string_view update_op(workload::Optimizer optimizer);

}  // namespace orrery::predict
