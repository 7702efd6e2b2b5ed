#pragma once
// What a launcher answers over HTTP, and what can be asked of it there:
//
//   GET /job                     how the job is, as JSON
//   GET /metrics                 the same as text for Prometheus (exposition format 0.0.4)
//   POST /resize?size=N          as `orrery resize`
//   POST /stop?worker=M         as `orrery stop --worker`; with rank=R, whoever has that rank in the last known
//   membership POST /stop                  as `orrery stop`
//
// Pure. Requests that a web page made a browser send (they have an Origin) are refused, and so are those without the
// token, if there is one. Without a token, POST is for the user who runs the job.

#include <variant>

#include "elastic/job/note.h"
#include "elastic/net/http.h"

namespace orrery::elastic {

// A request for the launcher, or the answer at once.
using HttpCommand = std::variant<AskLauncher, net::HttpAnswer>;
HttpCommand read_command(const net::HttpRequest& request, const JobStatus& status, const std::string& token);

// After a request: how the job is, or why it was not granted.
net::HttpAnswer answer_to(const Status& done, const JobStatus& status);

std::string job_json(const JobStatus& status);
std::string job_metrics(const JobStatus& status);

}  // namespace orrery::elastic
