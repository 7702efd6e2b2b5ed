#pragma once
// The result of a node whose inputs are all constant: files compute the shapes they reshape to in this way.

#include <span>

#include "workload/import/onnx/model.h"

namespace orrery::workload::import {

// One constant per output; empty if there is no rule for the node. An optional input that is left out is nullptr. At
// most `budget` numbers are computed; a larger result keeps its shape only.
Result<std::vector<Constant>> fold(const OnnxNode& node, std::int64_t opset, std::span<const Constant* const> inputs,
                                   std::size_t budget);

// The axes, starts, … of a node: an attribute in old opsets, input `index` in new ones. No value if it is left out.
Result<std::optional<std::vector<std::int64_t>>> list_of(const OnnxNode& node, std::string_view attribute,
                                                         std::span<const Constant* const> inputs, std::size_t index);

// The ranges of a Slice node on a tensor of these dimensions, one per dimension.
Result<std::vector<SliceRange>> slice_ranges(const OnnxNode& node, std::span<const Constant* const> inputs,
                                             const std::vector<std::int64_t>& dims);

// Dimensions after a Squeeze or an Unsqueeze.
Result<std::vector<std::int64_t>> squeezed_dims(const OnnxNode& node, std::span<const Constant* const> inputs,
                                                const std::vector<std::int64_t>& dims);

// Dimensions after a Reduce*; `axes` gets the axes that are reduced.
Result<std::vector<std::int64_t>> reduced_dims(const OnnxNode& node, std::span<const Constant* const> inputs,
                                               const std::vector<std::int64_t>& dims, std::vector<int>& axes);

// The order of a Transpose of `rank` dimensions.
Result<std::vector<int>> transpose_order(const OnnxNode& node, std::size_t rank);

// Sizes of the parts of a Split along a dimension of `size`.
Result<std::vector<std::int64_t>> split_sizes(const OnnxNode& node, std::span<const Constant* const> inputs,
                                              std::int64_t size);

}  // namespace orrery::workload::import
