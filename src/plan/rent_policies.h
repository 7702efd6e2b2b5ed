#pragma once
// The rules that renting is compared with, in the order of submission (fifo), due date (edf) or weight (priority).
//
// Assumptions: a Market (market.h); one job per machine; a job keeps its machine to the end.
//
// Procedure, at every event
//   1. Waiting jobs in the order of the rule.
//   2. While a node may be opened: the next job takes the machine and the number of its GPUs that cost least, price ·
//      time, of those that end by its due date; if none does, the fastest.
//
// Ties: jobs by index; machines by VM type, then fewer GPUs. Source: the baselines of the Politecnico di Milano line.

#include "plan/market.h"

namespace orrery::plan {

enum class RentOrder { kFifo, kDue, kWeight };

// Both are borrowed.
std::unique_ptr<schedule::Policy> make_rent_policy(RentOrder order, const Market& market, const MarketJobs& jobs);

}  // namespace orrery::plan
