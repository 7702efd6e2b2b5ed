#include "cli/catalogs.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/files.h"

namespace orrery::cli {

namespace {

Result<hardware::Catalog> read_file(Context& context, const std::string& path, const std::string& date) {
  ORRERY_TRY(const std::string csv, context.env.files.read(path, hardware::kCatalogBytesMax));
  auto catalog = hardware::read_catalog(csv, date);
  if (!catalog) return std::move(catalog).error().with_context(path);
  return catalog;
}

}  // namespace

std::size_t OfferList::rows_lost() const {
  std::size_t total = 0;
  for (const CatalogFile& file : files) total += file.catalog.rows_lost;
  return total;
}

std::size_t OfferList::problems() const {
  std::size_t total = 0;
  for (const CatalogFile& file : files) {
    for (const auto& count : file.catalog.problem_counts) total += count.lost + count.kept;
  }
  return total;
}

std::vector<OptionRecord> catalog_options() {
  return {text_option("catalog", "", "price list (CSV) to use instead of the built-in one").in("FILE"),
          text_option("override", "",
                      "price list (CSV) whose rows replace rows with the same provider, instance and region")
              .in("FILE"),
          text_option("date", "", "month or day of prices whose row has no date").in("YYYY-MM[-DD]")};
}

Result<OfferList> load_offers(Context& context, const OptionValues& options) {
  const std::string& date = options.text("date");
  OfferList list;
  hardware::Catalog merged;
  if (options.text("catalog").empty()) {
    merged = hardware::built_in_catalog();
  } else {
    ORRERY_TRY(merged, read_file(context, options.text("catalog"), date));
  }
  std::optional<hardware::Catalog> changes;
  if (!options.text("override").empty()) {
    ORRERY_TRY(changes, read_file(context, options.text("override"), date));
    merged = hardware::with_overrides(std::move(merged), *changes);
    changes->offers.clear();
  }
  list.offers = std::move(merged.offers);
  merged.offers.clear();
  list.date = merged.date;
  if (!options.text("catalog").empty()) list.files.push_back({options.text("catalog"), std::move(merged)});
  if (changes) list.files.push_back({options.text("override"), std::move(*changes)});
  return list;
}

std::string describe(const OfferList& list) {
  std::string text =
      list.date.empty() ? "prices: date unknown (--date says it)" : fmt::format("newest price of {}", list.date);
  const std::size_t problems = list.problems();
  if (problems == 0) return text;
  return text + fmt::format("; {} problems in the list, {} rows unusable (orrery offers --problems)",
                            format_whole(static_cast<double>(problems)),
                            format_whole(static_cast<double>(list.rows_lost())));
}

}  // namespace orrery::cli
