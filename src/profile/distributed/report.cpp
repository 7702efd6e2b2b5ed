#include "profile/distributed/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orrery::profile {

namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace orrery::profile
