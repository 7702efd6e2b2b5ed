// Any bytes are a table of measured costs, of prices, a row of a sweep, or an error that says what is wrong.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "expect.h"
#include "simulate/prices.h"
#include "simulate/speed_tables.h"
#include "simulate/summary.h"

using namespace orrery;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto interference = simulate::InterferenceTable::parse(text, "table");
  if (!interference) expect(!interference.error().message().empty());
  const auto locality = simulate::LocalityTable::parse(text, "table");
  if (!locality) expect(!locality.error().message().empty());
  const auto prices = simulate::parse_prices(text, "table");
  if (prices) {
    expect(!prices->empty() && prices->front().at_ns == 0);
    for (std::size_t i = 1; i < prices->size(); ++i) expect((*prices)[i].at_ns >= (*prices)[i - 1].at_ns);
    for (const simulate::Outage& outage : simulate::outages_above(*prices, 1, 2)) {
      expect(outage.returns_ns > outage.fails_ns);
    }
  }
  const auto summary = simulate::summary_of_json(text);
  if (summary) {
    const auto again = simulate::to_table({*summary}).to_json();
    expect(!again.empty());
  }
  return 0;
}
