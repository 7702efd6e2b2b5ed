#pragma once
// Former runs beside each other.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"

namespace orrery::service {

struct CompareRunsRequest {
  FieldNames names;
  std::vector<std::string> runs;  // files with what `orrery simulate --json` printed

  bool operator==(const CompareRunsRequest&) const = default;
};
const Fields<CompareRunsRequest>& compare_runs_fields();
// A row for each policy of each run; the first row is what the means are compared with.
Result<Table> compare_runs(env::Env env, const CompareRunsRequest& request);

}  // namespace orrery::service
