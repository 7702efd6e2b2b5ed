#pragma once
// What the processes of a job report when they are done, as one line of JSON on standard output.

#include <string>
#include <string_view>

#include "profile/distributed/parameter_server.h"
#include "profile/distributed/worker.h"

namespace orrery::profile {

std::string to_json(const WorkerReport& report);
std::string to_json(const ServerReport& report);
Result<WorkerReport> parse_worker_report(std::string_view text);
Result<ServerReport> parse_server_report(std::string_view text);

}  // namespace orrery::profile
