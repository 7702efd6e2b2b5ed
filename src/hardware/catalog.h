#pragma once
// Price catalogues: offers from a CSV file, in the common form or in SkyPilot's. docs/reference/formats/README.md
// describes the columns.
//
// A catalogue is external data: every row becomes an offer or is counted as lost, and everything doubtful about it
// becomes a problem with its line. Only a file without a usable header is refused as a whole.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "hardware/offer.h"

namespace orrery::hardware {

inline constexpr Bytes kCatalogBytesMax = mebibytes(256);
inline constexpr std::size_t kCatalogRowsMax = 5'000'000;
inline constexpr std::size_t kCatalogFieldBytesMax = 4096;
// Problems beyond this are counted, not listed.
inline constexpr std::size_t kCatalogProblemsMax = 100'000;

enum class CatalogProblemKind {
  kUnreadable,     // not CSV, or more or fewer fields than the header
  kMissing,        // a field that every row needs is empty
  kNoDevice,       // a machine without a device, which is no offer for us; reported once, at its first line
  kBadText,        // not UTF-8, or with control characters
  kNotANumber,     // text where a number was expected, or a date that is none
  kOutOfRange,     // negative or absurd
  kNoPrice,        // a price of 0 is not a price
  kDuplicate,      // of a row before it
  kUnknownDevice,  // once per name, at its first line
  kFraction,       // a slice of a device
  kOddPrice,       // 30 times off the median price of the device
  kMemoryDiffers,  // from that of the device by more than 20 %
};
inline constexpr std::size_t kCatalogProblemKinds = 12;

std::string_view to_string(CatalogProblemKind kind);

struct CatalogProblem {
  std::size_t line = 0;  // in the file, from 1
  CatalogProblemKind kind = CatalogProblemKind::kUnreadable;
  bool row_lost = false;  // false: the offer is there, without what was wrong
  std::string field;      // the column as the file calls it; empty: the whole row
  std::string what;
};

struct Catalog {
  std::vector<Offer> offers;             // in the order of the file
  std::vector<CatalogProblem> problems;  // by line
  // How often each kind occurred, listed or not; of kUnknownDevice, the rows.
  struct Count {
    std::size_t lost = 0;  // the row with it
    std::size_t kept = 0;
  };
  std::array<Count, kCatalogProblemKinds> problem_counts{};
  std::size_t rows = 0;  // offers and lost ones
  std::size_t rows_lost = 0;
  std::string date;  // the latest of the offers; empty: not known
};

// `date` (YYYY-MM or YYYY-MM-DD) is given to the rows that have none of their own; it may be empty.
Result<Catalog> read_catalog(std::string_view csv, std::string_view date = {});

// The built-in list in the same form.
Catalog built_in_catalog();

// The offers of `base`, except that every provider, instance and region (ignoring case) that `changes` has comes from
// there. Problems are those of `base`.
Catalog with_overrides(Catalog base, const Catalog& changes);

// Whether `text` is YYYY-MM or YYYY-MM-DD.
bool is_date(std::string_view text);

}  // namespace orrery::hardware
