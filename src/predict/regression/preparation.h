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

struct Prepared {
  Design raw;       // numeric columns as measured, by which splits are made
  Design features;  // inputs of the regressions
  std::vector<double> targets;
};

inline constexpr std::size_t kDesignColumnsMax = 5000;

Result<Prepared> prepare(const CsvTable& table, const Campaign& campaign);

}  // namespace orrery::predict
