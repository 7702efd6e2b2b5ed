// Gavel's simulator on V100, P100 and K80 GPUs: AlloX and FIFO by performance, on our own engine.
//
// Their policies hand out shares of time, in rounds of six minutes and with changes at most every 32 minutes; ours
// start a job once and let it run. So these are held to a band, not to the digits: mean completion time within 15 %.

#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "simulate/data_file.h"
#include "simulate/oracle/kinds.h"
#include "simulate/readers/reader.h"
#include "simulate/runner.h"

namespace orrery::simulate {

namespace {

constexpr double kTolerance = 0.15;
constexpr const char* kCluster = "cluster_v100_p100_k80";

// What their simulator calls our policies.
const std::map<std::string, std::string, std::less<>> kNames = {{"allox", "allox"}, {"fifo_perf", "fifo"}};

// "2:2:2" machines with one GPU each.
Result<RunSetup> cluster_of(const std::string& text, const std::string& file) {
  RunSetup setup;
  setup.devices = {"v100", "p100", "k80"};
  const std::vector<std::string> counts = split(text, ':');
  for (std::size_t type = 0; type < setup.devices.size(); ++type) {
    const auto count = type < counts.size() ? parse_number(counts[type]) : std::nullopt;
    if (!count || *count < 0 || *count > 1e5) {
      return Error::invalid(fmt::format("{}: {}: expected machines of each type as in 8:16:24", file, kCluster));
    }
    setup.machines.insert(setup.machines.end(), static_cast<std::size_t>(*count),
                          {.gpus = 1, .device = static_cast<std::int32_t>(type)});
  }
  return setup;
}

Result<OracleCase> run_case(const OracleInput& input, const std::string& stem, const nlohmann::json& result,
                            const RunSetup& setup, const Workload& workload) {
  const bool sound = result.is_object() && result.contains("policy") && result["policy"].is_string() &&
                     result.contains("avg_jct_s") && result["avg_jct_s"].is_number();
  if (!sound) return Error::invalid(fmt::format("{}.json: results: expected policy and avg_jct_s", stem));
  const std::string policy = result["policy"].get<std::string>();
  const double expected = result["avg_jct_s"].get<double>();
  const auto known = kNames.find(policy);
  if (known == kNames.end()) {
    return OracleCase{stem, policy, "mean completion time, s",        expected, 0, Bar::kNone,
                      0,    0,      "no policy of ours has this name"};
  }
  const double start = input.now_s();
  ORRERY_TRY(const RunResult run, run_policy(workload, setup, known->second));
  double sum = 0, ended = 0;
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    if (run.jobs[j].end_ns == kNever) continue;
    sum += schedule::to_seconds(run.jobs[j].end_ns - workload.jobs[j].facts.submit_ns);
    ++ended;
  }
  return OracleCase{stem,
                    policy,
                    "mean completion time, s",
                    expected,
                    ended > 0 ? sum / ended : 0,
                    Bar::kWithin,
                    kTolerance,
                    input.now_s() - start,
                    ended < static_cast<double>(run.jobs.size()) ? "some jobs fit on no type" : ""};
}

}  // namespace

Result<std::vector<OracleCase>> run_gavel_oracle(const OracleInput& input, const std::vector<std::string>& names) {
  std::vector<OracleCase> cases;
  for (const std::string& name : names) {
    const auto stem = stem_of(name, ".jct.csv");
    if (!stem) continue;
    const std::string path = input.folder + "/" + *stem + ".json";
    ORRERY_TRY(const std::string text, read_data_file(input.files, path));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    for (const char* key : {"trace", kCluster, "throughputs"}) {
      if (json.is_object() && json.contains(key) && json[key].is_string()) continue;
      return Error::invalid(fmt::format("{}: {}: missing or not a text", path, key));
    }
    if (!json.contains("results") || !json["results"].is_array()) {
      return Error::invalid(fmt::format("{}: results: missing", path));
    }
    ORRERY_TRY(const RunSetup setup, cluster_of(json[kCluster].get<std::string>(), path));
    ORRERY_TRY(const std::string table, find_input(input, "sched_gavel", {json["throughputs"].get<std::string>()}));
    ORRERY_TRY(const std::string speeds, read_data_file(input.files, table));
    ReadOptions options{.format = "gavel", .strict = true};
    ORRERY_TRY(options.speeds, SpeedTable::parse(speeds));
    ORRERY_TRY(const std::string trace, find_input(input, "sched_gavel", {json["trace"].get<std::string>()}));
    ORRERY_TRY(const std::string rows, read_data_file(input.files, trace));
    ORRERY_TRY(const WorkloadFile file, read_workload(rows, trace, options));
    for (const nlohmann::json& result : json["results"]) {
      ORRERY_TRY(cases.emplace_back(), run_case(input, *stem, result, setup, file.workload));
    }
  }
  return cases;
}

}  // namespace orrery::simulate
