#pragma once
// The bursts and idle times in a series of samples, as a CSV file has it.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"
#include "trace/bursts.h"

namespace orrery::service {

struct BurstsRequest {
  FieldNames names;
  std::string file;
  std::string time, value;         // columns
  std::optional<double> from, to;  // seconds after the first sample
  bool whole = false;              // do not trim
  bool remove_repeats = false;
  double full_scale = 0;
  std::optional<double> iteration;  // seconds

  friend bool operator==(const BurstsRequest&, const BurstsRequest&) = default;
};
const Fields<BurstsRequest>& bursts_fields();

struct BurstsAnswer {
  trace::ResourceSeries series;  // between from and to
  trace::Bursts bursts;
  bool has_iteration = false;
};
Result<BurstsAnswer> find_bursts(env::Env env, const BurstsRequest& request);

Table bursts_table(const BurstsAnswer& answer);
// Which samples were looked at.
std::string bursts_text(const BurstsAnswer& answer);

}  // namespace orrery::service
