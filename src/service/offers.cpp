#include "service/offers.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/files.h"

namespace orrery::service {

namespace {

Result<hardware::Catalog> read_file(env::Env env, const std::string& path, const std::string& date) {
  ORRERY_TRY(const std::string csv, env.files.read(path, hardware::kCatalogBytesMax));
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

const Fields<CatalogFields>& catalog_fields() {
  using C = CatalogFields;
  static const auto kFields =
      Fields<C>()
          .add(&C::catalog,
               text_option("catalog", "", "price list (CSV) to use instead of the built-in one").in("FILE"))
          .add(&C::override,
               text_option("override", "",
                           "price list (CSV) whose rows replace rows with the same provider, instance and region")
                   .in("FILE"))
          .add(&C::date, text_option("date", "", "month or day of prices whose row has no date").in("YYYY-MM[-DD]"));
  return kFields;
}

Result<OfferList> load_offers(env::Env env, const CatalogFields& fields) {
  OfferList list;
  hardware::Catalog merged;
  if (fields.catalog.empty()) {
    merged = hardware::built_in_catalog();
  } else {
    ORRERY_TRY(merged, read_file(env, fields.catalog, fields.date));
  }
  std::optional<hardware::Catalog> changes;
  if (!fields.override.empty()) {
    ORRERY_TRY(changes, read_file(env, fields.override, fields.date));
    merged = hardware::with_overrides(std::move(merged), *changes);
    changes->offers.clear();
  }
  list.offers = std::move(merged.offers);
  merged.offers.clear();
  list.date = merged.date;
  if (!fields.catalog.empty()) list.files.push_back({fields.catalog, std::move(merged)});
  if (changes) list.files.push_back({fields.override, std::move(*changes)});
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

}  // namespace orrery::service
