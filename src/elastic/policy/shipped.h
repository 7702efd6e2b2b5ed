#pragma once
// The policies that are part of Orrery, by name:
//
//   gns[:BATCH_MAX]                        gns_batch.h
//   gns-workers:PER_WORKER[:WORKERS_MAX]   gns_workers.h
//   adascale                               adascale.h
//   schedule:SIZE:STEPS,…                  schedule.h

#include "elastic/policy/policy.h"

namespace orrery::elastic {

Result<std::unique_ptr<Policy>> make_policy(const std::string& text);

}  // namespace orrery::elastic
