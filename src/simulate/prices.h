#pragma once
// What a GPU costs over time: a price that holds until the next one, as spot markets publish it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/engine.h"

namespace orrery::simulate {

inline constexpr std::size_t kPricesMax = 5'000'000;

// CSV with the columns time_s (or timestamp, a date) and price (dollars per GPU and hour), in order of time. The first
// price also holds before its time, which becomes the start of the run. Bad rows are errors, with their line.
Result<std::vector<PricePoint>> parse_prices(std::string_view csv, const std::string& file);

// All machines are taken back while the price is above `bid`, and come back when it is not.
std::vector<Outage> outages_above(std::span<const PricePoint> prices, double bid, std::size_t machines);

}  // namespace orrery::simulate
