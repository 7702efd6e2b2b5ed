#include "profile/distributed/report.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/statistics.h"

namespace orrery::profile {

namespace {

using Json = nlohmann::json;

Json json_of(const Traffic& traffic) {
  return {{"in", traffic.in}, {"out", traffic.out}};
}

Traffic traffic_of(const Json& json) {
  return {json.at("in").get<double>(), json.at("out").get<double>()};
}

WorkerStep step_of(const Json& json) {
  return {Seconds(json.at("start_s").get<double>()), Seconds(json.at("computed_s").get<double>()),
          Seconds(json.at("end_s").get<double>()), json.at("loss").get<double>()};
}

// Calls `body` with the parsed text; exceptions of the library become errors.
template <class Report, class Body>
Result<Report> parse(std::string_view text, Body body) {
  try {
    return body(Json::parse(text));
  } catch (const Json::exception& error) {
    return Error::invalid(fmt::format("the report of a process cannot be read: {}", error.what()));
  }
}

}  // namespace

std::string to_json(const WorkerReport& report) {
  Json json = {{"steps", Json::array()}, {"traffic", nullptr}};
  if (report.traffic) json["traffic"] = json_of(*report.traffic);
  for (const WorkerStep& step : report.steps) {
    json["steps"].push_back({{"start_s", step.start.value()},
                             {"computed_s", step.computed.value()},
                             {"end_s", step.end.value()},
                             {"loss", step.loss}});
  }
  return json.dump() + "\n";
}

std::string to_json(const ServerReport& report) {
  return Json{{"updates", report.updates}, {"traffic", json_of(report.traffic)}}.dump() + "\n";
}

Result<WorkerReport> parse_worker_report(std::string_view text) {
  return parse<WorkerReport>(text, [](const Json& json) {
    WorkerReport report;
    if (!json.at("traffic").is_null()) report.traffic = traffic_of(json.at("traffic"));
    for (const Json& step : json.at("steps")) report.steps.push_back(step_of(step));
    return report;
  });
}

Result<ServerReport> parse_server_report(std::string_view text) {
  return parse<ServerReport>(text, [](const Json& json) {
    return ServerReport{json.at("updates").get<std::int64_t>(), traffic_of(json.at("traffic"))};
  });
}

namespace {

// Samples [begin, end) of a series.
struct Run {
  std::size_t begin = 0, end = 0;
};

// Consecutive samples of at least `level`.
std::vector<Run> runs_above(const trace::ResourceSeries& series, double level) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (series.values[i] < level) continue;
    if (runs.empty() || runs.back().end < i) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

Seconds gap_between(const trace::ResourceSeries& series, const Run& first, const Run& second) {
  return series.times[second.begin] - series.times[first.end];
}

// Rule 3.
Seconds pause_max(const trace::ResourceSeries& series, const std::vector<Run>& runs) {
  constexpr double kPauseShare = 0.25;
  std::vector<Seconds> gaps;
  Seconds total(0);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    gaps.push_back(gap_between(series, runs[i - 1], runs[i]));
    total += gaps.back();
  }
  std::sort(gaps.begin(), gaps.end(), std::greater<>());
  Seconds sum(0);
  for (const Seconds gap : gaps) {
    sum += gap;
    if (sum >= total / 2) return gap * kPauseShare;
  }
  return Seconds(0);
}

std::vector<Run> join_over_pauses(const trace::ResourceSeries& series, const std::vector<Run>& runs) {
  const Seconds longest = pause_max(series, runs);
  std::vector<Run> joined;
  for (const Run& run : runs) {
    if (!joined.empty() && gap_between(series, joined.back(), run) < longest) {
      joined.back().end = run.end;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

// Rules 2 and 3.
std::vector<Run> bursts_of(const trace::ResourceSeries& series, const trace::Bursts& levels) {
  constexpr double kAboveIdle = 0.1;
  const double quiet = levels.idle_centre + kAboveIdle * (levels.burst_centre - levels.idle_centre);
  std::vector<Run> runs = join_over_pauses(series, runs_above(series, quiet));
  std::erase_if(runs, [&](const Run& run) {
    return std::none_of(series.values.begin() + static_cast<std::ptrdiff_t>(run.begin),
                        series.values.begin() + static_cast<std::ptrdiff_t>(run.end),
                        [&](double value) { return value >= levels.burst_smallest; });
  });
  return runs;
}

trace::ResourceSeries cut(const trace::ResourceSeries& series, Seconds begin, Seconds end) {
  trace::ResourceSeries window{series.name, series.unit, {}, {}};
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    if (series.times[i] < begin || series.times[i] >= end) continue;
    window.times.push_back(series.times[i]);
    window.values.push_back(series.values[i]);
  }
  return window;
}

// The samples beside a burst hold its first and last bytes, which did not fill their period.
double bytes_in(const trace::ResourceSeries& series, const Run& run) {
  double bytes = 0;
  for (std::size_t i = run.begin - 1; i <= run.end; ++i) {
    bytes += series.values[i] * (series.times[i + 1] - series.times[i]).value();
  }
  return bytes;
}

}  // namespace

Result<NetworkBursts> network_bursts(const trace::ResourceSeries& series, Seconds begin, Seconds end) {
  const trace::ResourceSeries window = cut(series, begin, end);
  trace::BurstOptions options;
  options.trim = false;
  ORRERY_TRY(const trace::Bursts levels, trace::find_bursts(window, options));
  NetworkBursts result;
  result.pattern = levels.pattern;
  if (levels.pattern != trace::BurstPattern::kAlternating) return result;
  std::vector<double> bytes, durations;
  for (const Run& run : bursts_of(window, levels)) {
    if (run.begin == 0 || run.end + 1 >= window.values.size()) continue;
    bytes.push_back(bytes_in(window, run));
    durations.push_back((window.times[run.end] - window.times[run.begin]).value());
  }
  result.count = bytes.size();
  if (bytes.empty()) return result;
  result.bytes = Bytes(median(bytes));
  result.duration = Seconds(median(durations));
  return result;
}

}  // namespace orrery::profile
