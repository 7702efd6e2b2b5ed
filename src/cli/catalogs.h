#pragma once
// The options that choose price lists, and the offers in them.

#include "cli/command.h"
#include "hardware/catalog.h"

namespace orrery::cli {

struct CatalogFile {
  std::string name;
  hardware::Catalog catalog;  // its offers have moved to the list
};

struct OfferList {
  std::vector<hardware::Offer> offers;
  std::string date;                // the latest; empty: unknown
  std::vector<CatalogFile> files;  // that were read, in order; none for the built-in list

  std::size_t rows_lost() const;
  std::size_t problems() const;
};

// --catalog, --override, --date.
std::vector<OptionRecord> catalog_options();

// The built-in list or --catalog, changed by --override.
Result<OfferList> load_offers(Context& context, const OptionValues& options);

// "newest price of 2026-08; 3 problems in the list…": what a reader should know about the list.
std::string describe(const OfferList& list);

}  // namespace orrery::cli
