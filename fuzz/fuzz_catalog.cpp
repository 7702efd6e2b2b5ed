// Any bytes are a price catalogue or an error. Every row of a catalogue is an offer or counted as lost, every problem
// has a line, and every offer can be printed and priced. The first byte chooses where a second catalogue begins, which
// overrides the first.

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "cli/main.h"
#include "env/sim_env.h"
#include "expect.h"
#include "hardware/catalog.h"
#include "hardware/device.h"

namespace {

using namespace orrery;

void check(const hardware::Catalog& catalog) {
  expect(catalog.rows == catalog.offers.size() + catalog.rows_lost);
  std::size_t lost = 0;
  for (const auto& count : catalog.problem_counts) lost += count.lost;
  expect(lost == catalog.rows_lost);
  for (const hardware::CatalogProblem& problem : catalog.problems) {
    expect(problem.line > 1 && !problem.what.empty() && is_printable(problem.what) && is_printable(problem.field));
  }
  for (const hardware::Offer& offer : catalog.offers) {
    expect(offer.device.empty() || hardware::find_device_or_null(offer.device) != nullptr);
    expect(hardware::price_per_device(offer) > DollarsPerHour(0));
    expect(offer.device_count > 0 || (offer.device_share > 0 && offer.device_share < 1));
    expect(is_printable(offer.provider) && is_printable(offer.instance) && is_printable(offer.region));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view first = text.substr(0, text.size() * (data[0] + 1) / 256);
  const std::string_view second = text.substr(first.size());
  const auto catalog = hardware::read_catalog(first);
  if (!catalog) {
    expect(!catalog.error().message().empty());
    return 0;
  }
  check(*catalog);
  if (const auto changes = hardware::read_catalog(second)) {
    expect(hardware::with_overrides(*catalog, *changes).offers.size() >= changes->offers.size());
  }
  env::SimEnv sim;
  expect(sim.files.write_atomically("prices.csv", first).has_value());
  for (const char* line : {"offers --catalog prices.csv", "offers --catalog prices.csv --problems --json",
                           "choose lenet --catalog prices.csv --all --nodes 1,3"}) {
    const cli::Outcome outcome = cli::run(split(line, ' '), sim.env());
    expect(outcome.exit_code != cli::kBadInput);
  }
  return 0;
}
