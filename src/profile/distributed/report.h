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

// Bursts of a rate in B/s between two times, both of them step boundaries, so that nothing is start-up. The levels are
// those of trace/bursts.h. Senders that share a link make short pauses: idle runs below kPauseMax belong to the burst
// around them. Bytes are summed over the samples; bursts that the window cuts off do not count.
inline constexpr Seconds kPauseMax{0.060};

struct NetworkBursts {
  trace::BurstPattern pattern = trace::BurstPattern::kIdle;
  std::size_t count = 0;  // whole bursts
  Bytes bytes;            // of one, on average
  Seconds duration;       // likewise
};
Result<NetworkBursts> network_bursts(const trace::ResourceSeries& series, Seconds begin, Seconds end);

}  // namespace orrery::profile
