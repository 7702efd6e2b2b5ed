#include "profile/jobs/job_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "profile/alternation.h"
#include "profile/distributed/network.h"
#include "profile/line_log.h"

namespace orrery::profile {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kFormat = "orrery-jobs";
constexpr Resource kAll[] = {Resource::kMemory, Resource::kProcessor, Resource::kReceive, Resource::kTransmit};

Error bad_line(std::size_t number, std::string_view what) {
  return Error::invalid(fmt::format("line {}: {}", number, what));
}

std::string series_of(Resource resource) {
  if (resource == Resource::kMemory || resource == Resource::kProcessor) return std::string(to_string(resource));
  return fmt::format("network {} {}", to_string(resource), kNetworkInterface);
}

// The first worker's steps without the first one, which is slower.
std::pair<Seconds, Seconds> steady_window(const std::vector<WorkerStep>& steps) {
  return {steps[1].start, steps.back().end};
}

Result<double> positive(const Json& json, double at_least = 0) {
  const auto number = json.get<double>();
  if (!(number >= at_least) || !(number <= 1e18)) return Error::invalid(fmt::format("{} is out of range", number));
  return number;
}

Result<ResourceUtilisation> parse_utilisation(const Json& list) {
  if (!list.is_array() || list.size() != 3) return Error::invalid("expected burst, idle and amount");
  ORRERY_TRY(const double burst, positive(list[0]));
  ORRERY_TRY(const double idle, positive(list[1]));
  ORRERY_TRY(const double amount, positive(list[2]));
  return ResourceUtilisation{Seconds(burst), Seconds(idle), amount};
}

Result<MeasuredJob> parse_job(const Json& json) {
  MeasuredJob measured;
  Job& job = measured.job;
  job.family = json.at("family");
  job.model = json.at("model");
  job.batch = json.at("batch");
  const std::string form = json.at("form"), mode = json.at("mode");
  if (form != "ps" && form != "allreduce") return Error::invalid("form: expected ps or allreduce");
  if (mode != "sync" && mode != "async") return Error::invalid("mode: expected sync or async");
  job.form = form == "ps" ? DistributedForm::kParameterServer : DistributedForm::kAllReduce;
  job.is_async = mode == "async";
  job.servers = json.at("servers");
  job.workers = json.at("workers");
  job.steps = json.at("steps");
  if (job.batch < 1 || job.workers < 1 || job.servers < (form == "ps" ? 1 : 0) || job.steps < 1) {
    return Error::invalid("batch, workers, servers and steps must be positive");
  }
  ORRERY_TRY(const double rate, positive(json.at("rate"), 1));
  ORRERY_TRY(const double step, positive(json.at("step_s")));
  ORRERY_TRY(const double compute, positive(json.at("compute_s")));
  ORRERY_TRY(measured.slowness, positive(json.at("slowness")));
  job.rate = BytesPerSecond(rate);
  measured.step = Seconds(step);
  measured.compute = Seconds(compute);
  for (const Resource resource : kAll) {
    const std::string name(to_string(resource));
    auto use = parse_utilisation(json.at(name));
    if (!use) return std::move(use).error().with_context(name);
    measured.use[static_cast<std::size_t>(resource)] = *use;
  }
  return measured;
}

Result<JobsHeader> parse_header(const Json& json) {
  if (json.value("format", "") != kFormat) return bad_line(1, "not a set of jobs: \"format\" is not \"orrery-jobs\"");
  if (json.value("version", 0) != kJobsVersion) {
    return bad_line(1,
                    fmt::format("version {} is not the {} that is understood", json.value("version", 0), kJobsVersion));
  }
  JobsHeader header{json.at("machine"), json.at("library"), json.at("seed")};
  const Json& quiet = json.at("quiet_s");
  if (!quiet.is_array() || quiet.size() != header.quiet.size()) return bad_line(1, "quiet_s: expected three times");
  for (std::size_t i = 0; i < quiet.size(); ++i) {
    ORRERY_TRY(const double time, positive(quiet[i]));
    header.quiet[i] = Seconds(time);
  }
  return header;
}

Status parse_line(std::string_view line, std::size_t number, JobSet& set) {
  try {
    const Json json = Json::parse(line);
    if (number == 1) {
      ORRERY_TRY(set.header, parse_header(json));
      return {};
    }
    auto job = parse_job(json);
    if (!job) return std::move(job).error().with_context(fmt::format("line {}", number));
    set.jobs.push_back(std::move(*job));
    return {};
  } catch (const nlohmann::json::exception& error) {
    return bad_line(number, error.what());
  }
}

Json list_of(const ResourceUtilisation& use) {
  return {use.burst.value(), use.idle.value(), use.amount};
}

}  // namespace

std::string_view to_string(Resource resource) {
  constexpr std::string_view kNames[] = {"memory", "cpu", "receive", "transmit"};
  return kNames[static_cast<std::size_t>(resource)];
}

bool JobsHeader::is_same_bench(const JobsHeader& other) const {
  return machine == other.machine && library == other.library && seed == other.seed;
}

Result<MeasuredJob> measured_job(const Job& job, const LaunchReport& report, double slowness) {
  const auto first = std::find_if(report.processes.begin(), report.processes.end(),
                                  [](const LaunchedProcess& one) { return one.worker.has_value(); });
  if (first == report.processes.end() || first->worker->steps.size() < 3) {
    return Error::invalid("a job needs a worker and three steps to be measured");
  }
  const std::vector<WorkerStep>& steps = first->worker->steps;
  const auto [begin, end] = steady_window(steps);
  MeasuredJob measured{.job = job, .slowness = slowness};
  const Seconds computed = median_computing(steps);
  const Seconds excess = computed * (1 - 1 / slowness);
  measured.compute = computed - excess;
  measured.step = median_step(steps) - excess;
  for (const Resource resource : kAll) {
    const auto series = first->series.find(series_of(resource));
    if (series == first->series.end()) {
      return Error::invalid(fmt::format("{} of the first worker was not sampled", series_of(resource)));
    }
    ORRERY_TRY(const Alternation found, alternation(series->second, begin, end, 1));
    ResourceUtilisation use{found.burst, found.idle, found.amount};
    const bool is_network = resource == Resource::kReceive || resource == Resource::kTransmit;
    Seconds& holds_computing = is_network ? use.idle : use.burst;  // the memory has one level, or follows the computing
    holds_computing = std::max(Seconds(0), holds_computing - excess);
    measured.use[static_cast<std::size_t>(resource)] = use;
  }
  return measured;
}

std::string header_line(const JobsHeader& header) {
  Json quiet = Json::array();
  for (const Seconds time : header.quiet) quiet.push_back(time.value());
  const Json json = {{"format", kFormat},         {"version", kJobsVersion}, {"machine", header.machine},
                     {"library", header.library}, {"seed", header.seed},     {"quiet_s", quiet}};
  return json.dump() + "\n";
}

std::string job_line(const MeasuredJob& measured) {
  const Job& job = measured.job;
  Json json = {{"family", job.family},
               {"model", job.model},
               {"batch", job.batch},
               {"form", job.form == DistributedForm::kAllReduce ? "allreduce" : "ps"},
               {"mode", job.is_async ? "async" : "sync"},
               {"servers", job.servers},
               {"workers", job.workers},
               {"rate", job.rate.value()},
               {"steps", job.steps},
               {"step_s", measured.step.value()},
               {"compute_s", measured.compute.value()},
               {"slowness", measured.slowness}};
  for (const Resource resource : kAll) json[std::string(to_string(resource))] = list_of(measured.of(resource));
  return json.dump() + "\n";
}

Result<JobSet> parse_jobs(std::string_view lines, bool may_be_cut) {
  JobSet set;
  ORRERY_TRY_VOID(parse_lines(
      lines, may_be_cut, [&](std::string_view line, std::size_t number) { return parse_line(line, number, set); }));
  return set;
}

bool is_job_set(env::Files& files, const std::string& path) {
  const auto lines = read_lines(files, path, kJobsMax);
  return lines && lines->substr(0, lines->find('\n')).find(kFormat) != std::string::npos;
}

Result<JobSet> read_jobs(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string lines, read_lines(files, path, kJobsMax));
  auto set = parse_jobs(lines, false);
  if (!set) return std::move(set).error().with_context(path);
  return set;
}

}  // namespace orrery::profile
