#pragma once
// From the nodes of an ONNX graph to our operators.
//
// Procedure, node by node in sorted order
// 1. A node inside a recognised pattern is skipped; the last one becomes the pattern's operator (fusion.h).
// 2. A node whose inputs are all constant is computed (fold.h). Shape and Size are, of any input.
// 3. Otherwise the node's rule makes operators; a node without a rule becomes kOther, with the output shapes the file
//    states.
//
// The batch. Files have it as a number in every shape they compute. Each value therefore records where its batch is:
// the axis, and how many elements of that axis belong to one sample. A reshape keeps the order of elements, so the
// stride of the batch does not change, and that tells which new dimension has it; that one is written as -1.
// A batch the file leaves open is given a number that is unlikely to be met by chance (kOpenBatch) while translating.

#include "workload/graph.h"
#include "workload/import/batch_axis.h"
#include "workload/import/onnx/model.h"

namespace orrery::workload::import {

// `open_batch` is the size given to a first dimension that the file leaves open.
Result<TrainingGraph> translate(const OnnxModel& sorted_model, const std::string& name, std::int64_t open_batch);

// Whether the file leaves the batch open.
bool has_open_batch(const OnnxModel& model);

}  // namespace orrery::workload::import
