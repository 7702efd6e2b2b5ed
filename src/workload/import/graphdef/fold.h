#pragma once
// The result of a node of a GraphDef whose inputs are all constant: graphs compute the shapes they reshape to in this
// way.

#include <optional>
#include <span>

#include "workload/import/constant.h"
#include "workload/import/graphdef/graphdef.h"

namespace orrery::workload::import {

// The first output; nothing if there is no rule for the node. Results of more than kGraphDefNumbersMax numbers have a
// shape only.
Result<std::optional<Constant>> fold_graphdef(const GraphDefNode& node, std::span<const Constant* const> inputs);

// A Const node, or the default of a placeholder.
Result<Constant> constant_of(const GraphDefTensor& tensor);

// Element types as we know them; 8 and 16 bit integers count as 32. No value for texts, resources and complex numbers.
std::optional<DataType> element_type_of(int graphdef_type);

// One range per dimension of the input, and which dimensions are left out of (-1) or new in (-2) the result.
struct StridedRanges {
  std::vector<SliceRange> ranges;
  std::vector<int> result_axes;  // of the result: the input's axis, or kNewAxis
};
inline constexpr int kNewAxis = -2;
Result<StridedRanges> strided_ranges(const GraphDefNode& node, std::span<const Constant* const> inputs,
                                     std::span<const std::int64_t> dims);

}  // namespace orrery::workload::import
