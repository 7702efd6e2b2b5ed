#pragma once
// The inputs of the ETS network for an operator: the 66 numbers of its published code.
//
//   26  type of operator, one-hot: 25 names and "others"; __iadd__ and dropout share a place, as published
//    3  phase, one-hot
//    3  number format, one-hot; the published traces are all fp32
//    4  batch, image side, FLOPs and bytes as the profiler estimated them
//   30  parameters, log(1 + x), with zeros behind
//
// Published: batch, side, FLOPs and bytes raw. kLogarithmic takes log(1 + x) of them instead, as the paper does
// for the batch.

#include <map>
#include <span>
#include <string>

#include "predict/ets/launch_trace.h"

namespace orrery::predict {

enum class SizeForm { kPublished, kLogarithmic };

inline constexpr std::size_t kEtsTypes = 26;
inline constexpr std::size_t kEtsFeatures = 66;

// The place of an operator's name among the types; the last is "others".
std::size_t ets_type_of(std::string_view kind_name);
// By number of the kind.
using EtsTypes = std::map<std::int32_t, std::uint8_t>;
EtsTypes ets_types_of(const std::map<std::int32_t, std::string>& kinds);

// Precondition: `out` has kEtsFeatures numbers.
void ets_features(const LaunchTrace& trace, std::size_t row, const EtsTypes& types, SizeForm sizes,
                  std::span<float> out);

}  // namespace orrery::predict
