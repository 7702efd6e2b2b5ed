#pragma once
// What the processes of a job say when they are done, as one line of JSON on standard output, and what their network
// series mean.

#include <string>
#include <string_view>

#include "profile/distributed/parameter_server.h"
#include "profile/distributed/worker.h"
#include "trace/bursts.h"

namespace orrery::profile {

std::string to_json(const WorkerReport& report);
std::string to_json(const ServerReport& report);
Result<WorkerReport> parse_worker_report(std::string_view text);
Result<ServerReport> parse_server_report(std::string_view text);

// Bursts of a rate in B/s between two times, both of them step boundaries, so that nothing is start-up.
//
// 1. Levels and pattern are those of trace/bursts.h.
// 2. Links are shared, so one burst may run at the full rate and at half of it. It lasts as long as the rate stays
//    above the idle level plus a tenth of the way to the burst level, and must reach the burst level at least once.
// 3. Senders make short pauses. A typical gap is one such that half of the time between runs is in gaps at least as
//    long; a gap below a quarter of it is a pause and belongs to the burst around it.
// 4. Bytes are summed over the samples. Bursts that the window cuts off do not count.
// 5. A machine that stops for longer than a pause breaks one burst in two; the median burst is a whole one all the same.
struct NetworkBursts {
  trace::BurstPattern pattern = trace::BurstPattern::kIdle;
  std::size_t count = 0;  // whole bursts
  Bytes bytes;            // of the median one
  Seconds duration;       // likewise
};
Result<NetworkBursts> network_bursts(const trace::ResourceSeries& series, Seconds begin, Seconds end);

}  // namespace orrery::profile
