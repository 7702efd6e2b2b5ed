#include "elastic/job/job_pages.h"

#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/crypto.h"

namespace orrery::elastic {

namespace {

using net::HttpAnswer;
using net::HttpRequest;
using Json = nlohmann::ordered_json;

std::optional<std::uint64_t> number_in(const HttpRequest& request, const std::string& name) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [stopped, failure] = std::from_chars(found->second.data(), end, number);
  return failure == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

HttpCommand read_resize(const HttpRequest& request) {
  const auto size = number_in(request, "size");
  if (!size || request.query.size() != 1) return HttpAnswer{400, "expected POST /resize?size=N\n"};
  return AskLauncher{.request = LauncherRequest::kResize, .size = *size};
}

HttpCommand read_stop(const HttpRequest& request, const JobStatus& status) {
  if (request.query.empty()) return AskLauncher{.request = LauncherRequest::kStop};
  const auto worker = number_in(request, "worker"), rank = number_in(request, "rank");
  const bool is_one = request.query.size() == 1 && (rank || (worker && *worker > 0));
  if (!is_one) return HttpAnswer{400, "expected POST /stop, /stop?worker=M or /stop?rank=R\n"};
  if (rank && *rank >= status.workers.size()) {
    return HttpAnswer{404, fmt::format("there is no rank {}: the job has {} workers\n", *rank, status.workers.size())};
  }
  return AskLauncher{.request = LauncherRequest::kStop, .worker = rank ? status.workers[*rank] : *worker};
}

// A metric with its help text, then its samples.
class Metrics {
 public:
  explicit Metrics(const std::string& job) : job_(job) {}

  void begin(std::string_view name, std::string_view kind, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP orrery_{} {}\n# TYPE orrery_{} {}\n", name, help, name, kind);
  }
  template <class Value>
  void add(Value value, const std::string& labels = "") {
    text_ += fmt::format("orrery_{}{{job=\"{}\"{}}} {}\n", name_, job_, labels, value);
  }
  template <class Value>
  void one(std::string_view name, std::string_view kind, std::string_view help, Value value) {
    begin(name, kind, help);
    add(value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string job_, name_, text_;
};

}  // namespace

std::string job_json(const JobStatus& status) {
  Json processes = Json::array();
  for (const ProcessStatus& process : status.processes) {
    processes.push_back({{"worker", process.worker},
                         {"process", process.process},
                         {"state", to_string(process.state)},
                         {"generation", process.generation},
                         {"step", process.step},
                         {"step_s", process.step_s},
                         {"vote_s", process.vote_s}});
  }
  const Json job = {{"job", status.job},
                    {"launcher", status.launcher},
                    {"wanted", status.size},
                    {"workers_min", status.size_min},
                    {"workers_max", status.size_max},
                    {"generation", status.generation},
                    {"step", status.step},
                    {"epoch", status.epoch},
                    {"workers", status.workers},
                    {"pause_s", status.pause_s},
                    {"stopping", status.is_stopping},
                    {"processes", processes}};
  return job.dump() + "\n";
}

std::string job_metrics(const JobStatus& status) {
  Metrics metrics(status.job);
  metrics.one("job_workers", "gauge", "Workers of the last membership.", status.workers.size());
  metrics.one("job_workers_wanted", "gauge", "Workers that the job shall have.", status.size);
  metrics.one("job_generation", "counter", "Number of the last membership.", status.generation);
  metrics.one("job_steps_total", "counter", "Steps that are committed.", status.step);
  metrics.one("job_epochs_total", "counter", "Complete epochs over the data.", status.epoch);
  metrics.one("job_last_pause_seconds", "gauge", "Between the last step before and the first after the last change.",
              status.pause_s);
  metrics.one("job_stopping", "gauge", "Whether the job is ending.", status.is_stopping ? 1 : 0);
  const auto of_each = [&](std::string_view name, std::string_view kind, std::string_view help, auto value) {
    metrics.begin(name, kind, help);
    for (const ProcessStatus& process : status.processes) {
      metrics.add(value(process), fmt::format(",worker=\"{}\",state=\"{}\"", process.worker, to_string(process.state)));
    }
  };
  of_each("worker_steps_total", "counter", "Step that a process has reported last.",
          [](const ProcessStatus& process) { return process.step; });
  of_each("worker_step_seconds", "gauge", "Time of a step of a worker, a running mean.",
          [](const ProcessStatus& process) { return process.step_s; });
  of_each("worker_vote_seconds", "gauge", "Of it, waiting for the votes of the others; a running mean.",
          [](const ProcessStatus& process) { return process.vote_s; });
  return metrics.take();
}

HttpCommand read_command(const HttpRequest& request, const JobStatus& status, const std::string& token) {
  if (request.headers.contains("origin")) return HttpAnswer{403, "not for web pages\n"};
  if (!token.empty() && !is_same_secret(request.header("authorization"), "Bearer " + token)) {
    return HttpAnswer{401, "expected the header \"Authorization: Bearer TOKEN\" with the token of this job\n"};
  }
  const bool is_get = request.method == "GET", is_post = request.method == "POST";
  const bool is_page = request.path == "/job" || request.path == "/metrics";
  const bool is_command = request.path == "/resize" || request.path == "/stop";
  if (!is_page && !is_command) return HttpAnswer{404, "there are /job, /metrics, /resize and /stop\n"};
  if ((is_page && !is_get) || (is_command && !is_post)) {
    return HttpAnswer{405, fmt::format("{} is for {}\n", request.path, is_page ? "GET" : "POST")};
  }
  if (is_command && token.empty() && !request.is_from_our_user) {
    return HttpAnswer{403, "without --http-token-file only the user who runs the job may change it\n"};
  }
  if (request.path == "/resize") return read_resize(request);
  if (request.path == "/stop") return read_stop(request, status);
  if (request.path == "/job") return HttpAnswer{200, job_json(status), "application/json"};
  return HttpAnswer{200, job_metrics(status), "text/plain; version=0.0.4; charset=utf-8"};
}

HttpAnswer answer_to(const Status& done, const JobStatus& status) {
  if (done) return {200, job_json(status), "application/json"};
  int code = 409;
  if (done.error().code() == ErrorCode::kInvalidArgument) code = 400;
  if (done.error().code() == ErrorCode::kNotFound) code = 404;
  return {code, done.error().message() + "\n"};
}

}  // namespace orrery::elastic
