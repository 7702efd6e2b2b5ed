#pragma once
// The policies that are part of Orrery, by name:
//
//   gns[:BATCH_MAX]                        gns_batch.h
//   gns-workers:PER_WORKER[:WORKERS_MAX]   gns_workers.h
//   adascale                               adascale.h
//   schedule:SIZE:STEPS,…                  schedule.h
//   timetable:SIZE:SECONDS,…               schedule.h
//   goodput[:WORKERS_MAX[:BATCH_MAX]]      goodput.h
//   straggler[:FACTOR]                     straggler.h
//   strategy-by-size:WORKERS_MAX           strategy_by_size.h
//
// The last four need observations that only `orrery train` makes; elsewhere the last three propose nothing, and the
// timetable stays at its beginning.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

Result<std::unique_ptr<Policy>> make_policy(const std::string& text);

}  // namespace orrery::elastic
