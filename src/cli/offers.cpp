#include "service/offers.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

#include "base/text.h"
#include "cli/commands.h"
#include "hardware/device.h"

namespace orrery::cli {

using hardware::CatalogProblem;
using hardware::Offer;

namespace {

constexpr std::size_t kRowsShown = 30;

const std::string& name_of(const Offer& offer) {
  return offer.device.empty() ? offer.accelerator : offer.device;
}

// The names in a --device list: our own, or the name in a catalogue of a device we do not know.
Result<std::set<std::string>> wanted_devices(const std::vector<Offer>& offers, const OptionValues& options) {
  std::set<std::string> unknown;
  for (const Offer& offer : offers) {
    if (offer.device.empty()) unknown.insert(to_lower(offer.accelerator));
  }
  std::set<std::string> wanted;
  for (const std::string& text : options.texts("device")) {
    if (unknown.contains(to_lower(text))) {
      wanted.insert(to_lower(text));
      continue;
    }
    ORRERY_TRY(const hardware::Device* device, hardware::find_device(text));
    wanted.insert(to_lower(device->name));
  }
  return wanted;
}

Result<std::set<std::string>> wanted_providers(const std::vector<Offer>& offers, const OptionValues& options) {
  std::set<std::string> known;
  for (const Offer& offer : offers) known.insert(to_lower(offer.provider));
  std::set<std::string> wanted;
  for (const std::string& text : options.texts("provider")) {
    if (!known.contains(to_lower(text))) {
      const std::vector<std::string> names(known.begin(), known.end());
      return Error::not_found(
          fmt::format("no provider {} in this list{}", quote(text), did_you_mean(to_lower(text), names)));
    }
    wanted.insert(to_lower(text));
  }
  return wanted;
}

// The offers that pass every filter, cheapest per device first.
Result<std::vector<const Offer*>> choose(const std::vector<Offer>& offers, const OptionValues& options) {
  ORRERY_TRY(const std::set<std::string> devices, wanted_devices(offers, options));
  ORRERY_TRY(const std::set<std::string> providers, wanted_providers(offers, options));
  const std::string region = to_lower(options.text("region"));
  const bool spot = options.flag("spot");
  const auto price = [spot](const Offer& offer) { return spot ? offer.spot.value_or(offer.price) : offer.price; };
  const auto passes = [&](const Offer& offer) {
    return (devices.empty() || devices.contains(to_lower(name_of(offer)))) &&
           (providers.empty() || providers.contains(to_lower(offer.provider))) &&
           (region.empty() || to_lower(offer.region).find(region) != std::string::npos) &&
           (!spot || offer.spot.has_value()) &&
           (!options.has("min-memory") || offer.device_memory >= gibibytes(options.number("min-memory"))) &&
           (!options.has("max-price") || price(offer) <= DollarsPerHour(options.number("max-price"))) &&
           (!options.has("count") || offer.device_count >= options.integer("count"));
  };
  std::vector<const Offer*> chosen;
  for (const Offer& offer : offers) {
    if (passes(offer)) chosen.push_back(&offer);
  }
  const auto order = [spot](const Offer& offer) {
    const DollarsPerHour each = spot ? *hardware::spot_per_device(offer) : hardware::price_per_device(offer);
    return std::tuple(each, std::string_view(offer.provider), std::string_view(offer.instance),
                      std::string_view(offer.region));
  };
  std::stable_sort(chosen.begin(), chosen.end(), [&](const Offer* a, const Offer* b) { return order(*a) < order(*b); });
  return chosen;
}

Cell text_or_none(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

Cell number_or_none(double number) {
  return number > 0 ? Cell(number) : Cell();
}

Cell price_or_none(std::optional<DollarsPerHour> price) {
  return price ? Cell(price->value()) : Cell();
}

Table offer_table(std::span<const Offer* const> offers, bool dated) {
  Table table({{"provider", "provider"},
               {"instance", "instance"},
               {"region", "region"},
               {"device", "device"},
               {"catalog_name", "listed as", CellFormat::kText, false},
               {"known_device", "known", CellFormat::kText, false},
               {"devices", "devices"},
               {"device_memory_bytes", "device memory", CellFormat::kBytes},
               {"vcpus", "vCPUs", CellFormat::kInteger},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"price_usd_per_h", "per hour", CellFormat::kDollars},
               {"price_per_device_usd_per_h", "per device", CellFormat::kDollars},
               {"spot_usd_per_h", "spot", CellFormat::kDollars},
               {"spot_per_device_usd_per_h", "spot per device", CellFormat::kDollars, false},
               {"odd_price", "odd price", CellFormat::kText, false},
               {"price_date", "price of", CellFormat::kText, dated}});
  for (const Offer* offer : offers) {
    const Cell devices = offer->device_count > 0 ? Cell(std::int64_t{offer->device_count}) : Cell(offer->device_share);
    table.add({text_or_none(offer->provider), offer->instance, text_or_none(offer->region), name_of(*offer),
               offer->accelerator.empty() ? offer->device : offer->accelerator, !offer->device.empty(), devices,
               number_or_none(offer->device_memory.value()), number_or_none(offer->vcpus),
               number_or_none(offer->memory.value()), offer->price.value(), hardware::price_per_device(*offer).value(),
               price_or_none(offer->spot), price_or_none(hardware::spot_per_device(*offer)), offer->odd_price,
               text_or_none(offer->date)});
  }
  return table;
}

Status print_offers(Context& context, const service::OfferList& list, const OptionValues& options) {
  ORRERY_TRY(const std::vector<const Offer*> chosen, choose(list.offers, options));
  const bool as_text = !options.flag("json") && !options.flag("csv");
  std::size_t shown = chosen.size();
  if (options.has("limit")) shown = std::min(shown, static_cast<std::size_t>(options.integer("limit")));
  if (!options.has("limit") && as_text) shown = std::min(shown, kRowsShown);
  const Table table = offer_table(std::span(chosen).first(shown), !list.date.empty());
  if (shown > 0 || !as_text) ORRERY_TRY_VOID(context.print_table(table, options));
  if (!as_text) return {};
  const auto whole = [](std::size_t n) { return format_whole(static_cast<double>(n)); };
  context.print(fmt::format(
      "{}shown {} of {}{}; {}\n", shown > 0 ? "\n" : "", whole(shown), whole(chosen.size()),
      chosen.size() < list.offers.size() ? fmt::format(" ({} offers in the list)", whole(list.offers.size())) : "",
      describe(list)));
  return {};
}

Status print_problems(Context& context, const service::OfferList& list, const OptionValues& options) {
  Table table({{"file", "file", CellFormat::kText, list.files.size() > 1},
               {"line", "line", CellFormat::kInteger},
               {"field", "field"},
               {"kind", "kind"},
               {"row_lost", "row lost"},
               {"problem", "problem"}});
  std::size_t listed = 0;
  for (const service::CatalogFile& file : list.files) {
    listed += file.catalog.problems.size();
    for (const CatalogProblem& p : file.catalog.problems) {
      table.add({file.name, static_cast<std::int64_t>(p.line), text_or_none(p.field), std::string(to_string(p.kind)),
                 p.row_lost, p.what});
    }
  }
  if (listed == 0 && for_people(options)) {
    context.print("no problems\n");
    return {};
  }
  return context.print_table(table, options);
}

Status check(Context& context, const service::OfferList& list, const OptionValues& options) {
  Table table({{"file", "file", CellFormat::kText, list.files.size() > 1},
               {"kind", "problem"},
               {"rows_lost", "rows lost", CellFormat::kInteger},
               {"rows_kept", "rows kept", CellFormat::kInteger}});
  std::size_t rows = 0;
  for (const service::CatalogFile& file : list.files) {
    rows += file.catalog.rows;
    for (std::size_t kind = 0; kind < hardware::kCatalogProblemKinds; ++kind) {
      const auto& count = file.catalog.problem_counts[kind];
      if (count.lost + count.kept == 0) continue;
      table.add({file.name, std::string(to_string(static_cast<hardware::CatalogProblemKind>(kind))),
                 static_cast<std::int64_t>(count.lost), static_cast<std::int64_t>(count.kept)});
    }
  }
  if (table.rows() > 0 || !for_people(options)) ORRERY_TRY_VOID(context.print_table(table, options));
  const std::size_t lost = list.rows_lost();
  if (for_people(options)) {
    context.print(fmt::format("{}{} rows read, {} usable, {} unusable\n", table.rows() > 0 ? "\n" : "",
                              format_whole(static_cast<double>(rows)), format_whole(static_cast<double>(rows - lost)),
                              format_whole(static_cast<double>(lost))));
  }
  std::size_t deviceless = 0;
  for (const service::CatalogFile& file : list.files) {
    deviceless += file.catalog.problem_counts[static_cast<std::size_t>(hardware::CatalogProblemKind::kNoDevice)].lost;
  }
  if (lost == deviceless) return {};
  return Error::infeasible(fmt::format("{} of {} rows are unusable; --problems lists them", lost - deviceless, rows));
}

Status run_offers(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::CatalogFields catalog, service::catalog_fields().read(options));
  ORRERY_TRY(const service::OfferList list, service::load_offers(context.env, catalog));
  const bool about_files = options.flag("check") || options.flag("problems");
  if (about_files && list.files.empty()) {
    return Error::invalid("--check and --problems check a file: give --catalog FILE or --override FILE");
  }
  if (options.flag("problems")) ORRERY_TRY_VOID(print_problems(context, list, options));
  if (options.flag("check")) return check(context, list, options);
  return about_files ? Status() : print_offers(context, list, options);
}

}  // namespace

Command offers_command() {
  return {
      "offers",
      "",
      0,
      0,
      "list the offers, cheapest per device first, and check price lists",
      join(join(service::catalog_fields().records(),
                {text_option("device", "", "only these devices").in("NAME").list(),
                 optional_number("min-memory", "only devices with at least this much memory").in("GIB").bounds(0, 1e7),
                 optional_number("max-price", "only machines up to this price per hour").in("USD").bounds(0, 1e9),
                 text_option("provider", "", "only these providers").in("NAME").list(),
                 text_option("region", "", "only regions with this in their name").in("TEXT"),
                 flag_option("spot", "only offers with a spot price, sorted by it"),
                 optional_integer("count", "only machines with at least this many devices").bounds(1, 1 << 20),
                 optional_integer("limit", "rows to show (default: 30; all rows with --json or --csv)").bounds(1, 1e9),
                 flag_option("problems", "list the problems in the files, by line"),
                 flag_option("check",
                             "count the problems in the files; exit with 1 if a row with a device is unusable")}),
           table_options()),
      {"orrery offers --device A100,H100 --count 8", "orrery offers --min-memory 80 --max-price 5 --spot",
       "orrery offers --catalog prices.csv --override ours.csv --region eu --limit 10",
       "orrery offers --catalog prices.csv --check", "orrery offers --catalog prices.csv --problems --json"},
      run_offers};
}

}  // namespace orrery::cli
