#pragma once
// Gandiva (OSDI'18): every job starts soon; servers that have too many share their GPUs over time.
//
// Assumes: gangs; nothing is known about run times; suspension is cheap and keeps the work; utilisation and memory of a
// job, and the rates of jobs that share GPUs, can be measured.
// 1. Placement (Algorithm 1). A server's affinity is the number of GPUs of the jobs it hosts. A job goes to the least
//    loaded server of its affinity with enough free GPUs; else to an empty server, which takes its affinity; else to
//    any such server; else, if enough GPUs are free but spread, small jobs of the server with most free GPUs move to
//    fuller servers until it fits (defragmentation); else to the least loaded server of its affinity, or of any,
//    over-subscribed.
// 2. Time slicing. Every quantum, an over-subscribed server suspends the jobs that ran and starts the next of its ring
//    that fit; jobs that ran go to the back.
// 3. Packing. On an over-subscribed server, the suspended job with lowest utilisation that has run for a quantum
//    shares the GPUs of the running job with lowest utilisation and as many GPUs, if their memory fits together. After
//    a quantum the pair is undone, for good, unless the sum of their rates exceeds that of time slicing, which is 1.
// 4. Migration. When jobs leave, suspended jobs of the most over-subscribed servers go to servers with free GPUs.
// 5. A job larger than any server takes turns with the other jobs of the fewest servers that hold it, the least loaded
//    ones; one such job per server, others wait in order.
// 6. On several types of devices a job goes to a server of the fastest type with enough free GPUs; without one to the
//    least loaded one of the types it runs on. Jobs move only among servers of one type for others (defragmentation).
// 7. Growing. Elastic jobs use idle GPUs of their server while no job waits (gandiva_growth.h).
// A job that must not be suspended yet keeps its turn.
// Ties: the lower server; earlier in the ring. Source: Xiao et al., "Gandiva" (OSDI 2018).
// O(servers) per event, O(jobs of over-subscribed servers) per quantum.

#include <memory>

#include "schedule/policy.h"

namespace orrery::schedule {

struct GandivaOptions {
  double quantum_s = 60;
  bool packing = true;
  bool migration = true;
  bool growing = true;
};

std::unique_ptr<Policy> make_gandiva(const GandivaOptions& options);

// Whether two jobs that share GPUs do more work than by taking turns; rates are relative to running alone.
constexpr bool packing_pays(double rate_a, double rate_b) {
  return rate_a + rate_b > 1;
}

}  // namespace orrery::schedule
