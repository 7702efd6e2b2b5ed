#include "simulate/prices.h"

#include <cmath>
#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "simulate/readers/columns.h"

namespace orrery::simulate {

Result<std::vector<PricePoint>> parse_prices(std::string_view csv, const std::string& file) {
  auto table = parse_csv(csv);
  if (!table) return std::move(table).error().with_context(file);
  const Columns columns(table->header);
  const std::string_view time = columns.has("time_s") ? "time_s" : "timestamp";
  if (!columns.has(time) || !columns.has("price")) {
    return Error::invalid(fmt::format("{}:1: expected the columns time_s (or timestamp) and price", file));
  }
  if (table->rows.empty()) return Error::invalid(fmt::format("{}: no price", file));
  if (table->rows.size() > kPricesMax) return Error::invalid(fmt::format("{}: more than {} prices", file, kPricesMax));
  std::vector<PricePoint> prices;
  double first_s = 0;
  for (const CsvRow& row : table->rows) {
    RowReader fields(columns, row.fields);
    const double at_s = fields.date(time), price = fields.number("price");
    if (prices.empty()) first_s = at_s;
    const double from_start_s = at_s - first_s;
    if (!(price >= 0 && price <= 1e6)) fields.fail("price", "expected dollars per GPU and hour, 0 to 1,000,000");
    if (!(from_start_s >= 0 && from_start_s <= schedule::kSecondsMax)) fields.fail(time, "goes backwards, or too far");
    if (!fields.fault().empty()) return Error::invalid(fmt::format("{}:{}: {}", file, row.line, fields.fault()));
    const TimeNs at = schedule::from_seconds(from_start_s);
    if (!prices.empty() && at < prices.back().at_ns) {
      return Error::invalid(fmt::format("{}:{}: {}: goes backwards", file, row.line, time));
    }
    prices.push_back({at, price});
  }
  return prices;
}

std::vector<Outage> outages_above(std::span<const PricePoint> prices, double bid, std::size_t machines) {
  std::vector<Outage> outages;
  for (std::size_t i = 0; i < prices.size();) {
    if (prices[i].usd_per_gpu_h <= bid) {
      ++i;
      continue;
    }
    const TimeNs from = prices[i].at_ns;
    while (i < prices.size() && prices[i].usd_per_gpu_h > bid) ++i;
    const TimeNs to = i < prices.size() ? prices[i].at_ns : kNever;
    if (to <= from) continue;
    for (const MachineIndex machine : IndexRange<MachineIndex>(machines)) outages.push_back({from, to, machine});
  }
  return outages;
}

}  // namespace orrery::simulate
