#pragma once
// From a table of measurements to the columns a regression sees.
//
// In this order: rename, drop rows, choose columns, one column per level of a text column, then inverse, log, products
// (degrees 2 to D over the sorted columns, powers included unless only interactions are asked for; never x with its own
// inverse, never two levels of one column) or Ernest's four terms. Errors name the column and the line.

#include "base/csv.h"
#include "predict/regression/campaign_file.h"
#include "predict/regression/design.h"

namespace orrery::predict {

// How a feature is made of columns: the product of its terms; without terms it is 1.
enum class TermForm : std::uint8_t { kPlain, kInverse, kLog, kLevel };
struct FeatureTerm {
  std::string column;
  TermForm form = TermForm::kPlain;
  std::string level{};  // kLevel: 1 where the column has this text, else 0
};
using FeatureRecipe = std::vector<FeatureTerm>;

struct Prepared {
  Design raw;                          // numeric columns as measured: what splits go by
  Design features;                     // what regressions see
  std::vector<FeatureTerm> raw_terms;  // what each raw column is
  std::vector<FeatureRecipe> recipes;  // of each feature
  std::vector<double> targets;

  // Some of the rows, in the order given.
  Prepared rows_at(std::span<const std::size_t> rows) const;
};

inline constexpr std::size_t kDesignColumnsMax = 5000;

Result<Prepared> prepare(const CsvTable& table, const Campaign& campaign);

}  // namespace orrery::predict
