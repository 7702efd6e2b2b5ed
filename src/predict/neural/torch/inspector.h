#pragma once
// Driple's inspector on libtorch: the structure "inspector" of network.h, on sparse block-diagonal batches.

#include "predict/neural/torch/cursor.h"
#include "predict/neural/torch/structures.h"

namespace orrery::predict {

// graphs × outputs.
at::Tensor inspector(const NetworkOptions& options, Cursor& cursor, const BatchTensors& batch);

}  // namespace orrery::predict
