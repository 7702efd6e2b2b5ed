#pragma once
// Time of collectives between n devices, by the usual α-β formulas (α: latency of a message, β: seconds per byte).
//
//   ring all-reduce        2(n-1)·α + 2(n-1)/n · B·β                      over the slowest link
//   tree all-reduce        2⌈log2 n⌉·α + 2·B·β                            (pipelined double tree)
//   hierarchical           ring inside machines, ring of one share per machine between them
//   parameter server       2·(α + max(1, w/p)·B·β)                        w workers, p servers, push then pull
//   all-gather, reduce-scatter   (n-1)·α + (n-1)/n · B·β

#include "hardware/placement.h"
#include "workload/training_run.h"

namespace orrery::predict {

Seconds ring_all_reduce(const hardware::Link& link, int n, Bytes size);
Seconds tree_all_reduce(const hardware::Link& link, int n, Bytes size);
Seconds hierarchical_all_reduce(const hardware::Placement& placement, int n, Bytes size);
Seconds parameter_server_exchange(const hardware::Link& link, int workers, int servers, Bytes size);
Seconds all_gather(const hardware::Link& link, int n, Bytes size);

// The exchange the run asks for, between its data-parallel replicas. Neighbouring replicas are tensor × pipeline
// devices apart, which decides whether they share a machine.
Seconds gradient_exchange(const workload::Parallelism& parallelism, const hardware::Placement& placement, Bytes size);

}  // namespace orrery::predict
