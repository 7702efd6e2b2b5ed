#pragma once
// What more GPUs, another policy, worse predictions or failures would do to the jobs of a trace.

#include "base/table.h"
#include "service/job_traces.h"
#include "service/simulate_setup.h"
#include "service/watch.h"
#include "simulate/summary.h"

namespace orrery::service {

struct SimulateWhatifRequest {
  FieldNames names;
  std::string trace;
  // "policy=srtf": a field of `now` and its other value; several that change together are joined by "+". Empty: the
  // first questions of an operator.
  std::vector<std::string> changes;
  SimulatedCluster now;
  int threads = 1;
  std::uint64_t seed = 1;
  int seeds = 1;  // averages are over this many, from `seed` on
  JobTraceFields read;

  bool operator==(const SimulateWhatifRequest&) const = default;
};
const Fields<SimulateWhatifRequest>& simulate_whatif_fields();

// How jobs fare after a change.
struct SimulateWhatifRow {
  std::string change;
  int gpus = 0;
  std::vector<simulate::Summary> summaries;  // by seed
};

struct SimulateWhatifAnswer {
  simulate::JobTraceFile file;
  std::string cluster;                  // the present one, for people
  std::vector<SimulateWhatifRow> rows;  // the first is the cluster as it is; changes without metrics are left out
  std::vector<Error> failures{};        // of those, each with its change
  bool has_price = false;
};
Result<SimulateWhatifAnswer> simulate_whatif(env::Env env, const SimulateWhatifRequest& request, Watch& watch);

Table simulate_whatif_table(const SimulateWhatifAnswer& answer);
// Success if every change has metrics.
Status failure_of(const SimulateWhatifAnswer& answer);

}  // namespace orrery::service
