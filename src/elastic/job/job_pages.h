#pragma once
// The HTTP interface of a launcher:
//
//   GET /job                     the state of the job, as JSON
//   GET /metrics                 the same as text for Prometheus (exposition format 0.0.4)
//   POST /resize?size=N          as `orrery resize`
//   POST /stop?worker=M          as `orrery stop --worker`; rank=R means the worker with that rank in the last report
//   POST /stop                   as `orrery stop`
//
// It is a pure function. Requests that a web page made a browser send (they have an Origin) are refused, and so are
// those without the token, if there is one. Without a token, POST is for the user who runs the job.

#include <variant>

#include "elastic/job/note.h"
#include "elastic/net/http.h"

namespace orrery::elastic {

// A request for the launcher, or the answer at once.
using HttpCommand = std::variant<AskLauncher, net::HttpAnswer>;
HttpCommand read_command(const net::HttpRequest& request, const JobStatus& status, const std::string& token);

// The answer after a request: the state of the job, or why the request was refused.
net::HttpAnswer answer_to(const Status& done, const JobStatus& status);

std::string job_json(const JobStatus& status);
std::string job_metrics(const JobStatus& status);

}  // namespace orrery::elastic
