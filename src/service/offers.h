#pragma once
// The fields that choose price lists, and the offers in them.

#include "base/fields.h"
#include "env/env.h"
#include "hardware/catalog.h"

namespace orrery::service {

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

struct CatalogFields {
  std::string catalog;   // file; empty: the built-in list
  std::string override;  // file; empty: none
  std::string date;      // of prices without one

  bool operator==(const CatalogFields&) const = default;
};
const Fields<CatalogFields>& catalog_fields();

// The built-in list or the catalogue, changed by the overrides.
Result<OfferList> load_offers(env::Env env, const CatalogFields& fields);

// "newest price of 2026-08; 3 problems in the list…": what a reader should know about the list.
std::string describe(const OfferList& list);

}  // namespace orrery::service
