// Runs of Gavel's simulator: mean completion time and makespan within the tolerance that the folder states for each.
//
// A folder has NAME.json with the trace, the GPUs and the results of each policy, and NAME.jct.csv with the completion
// time of every job. A linear program has many best points, and the published ones are those of another solver.

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "lab/lab.h"
#include "lab/reference/gavel/gavel_jobs.h"
#include "lab/reference/kinds.h"
#include "simulate/data_file.h"

namespace orrery::lab {

namespace {

const std::vector<std::string> kTypes = {"v100", "p100", "k80"};

// "8:16:24" as V100, P100 and K80.
Result<std::vector<int>> gpus_of(const std::string& text) {
  std::vector<int> gpus;
  for (const std::string& part : split(text, ':')) {
    const auto count = parse_number(part);
    if (!count || *count < 0 || *count > 1e6)
      return Error::invalid(fmt::format("{}: expected GPUs as 8:16:24", quote(text)));
    gpus.push_back(static_cast<int>(*count));
  }
  if (gpus.size() != kTypes.size()) return Error::invalid(fmt::format("{}: expected GPUs as 8:16:24", quote(text)));
  return gpus;
}

// The first percentage in words such as "0.5% on 24:0:0; random GPU type otherwise: ordering only". With several types
// a policy that draws them keeps the one behind "otherwise", if there is one.
std::optional<double> tolerance_of(const std::string& words, bool several_types) {
  const std::size_t otherwise = words.find("otherwise");
  std::string_view text = words;
  if (several_types && otherwise != std::string::npos) text = text.substr(otherwise);
  const std::size_t percent = text.find('%');
  if (percent == std::string_view::npos) return std::nullopt;
  std::size_t begin = percent;
  while (begin > 0 && (std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '.'))
    --begin;
  const auto value = parse_number(text.substr(begin, percent - begin));
  if (!value) return std::nullopt;
  return *value / 100;
}

}  // namespace

Result<std::vector<ReferenceCase>> run_gavel_results(const ReferenceInput& input,
                                                     const std::vector<std::string>& names) {
  std::vector<ReferenceCase> cases;
  for (const std::string& name : names) {
    const auto stem = stem_of(name, ".jct.csv");
    if (!stem) continue;
    const std::string path = fmt::format("{}/{}.json", input.folder, *stem);
    ORRERY_TRY(const std::string text, read_data_file(input.files, path));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("results"))
      return Error::invalid(path + ": expected trace, GPUs and results");
    const std::string trace = json.value("trace", ""), table = json.value("throughputs", "simulation_throughputs.json");
    ORRERY_TRY(const std::string speeds_path, find_input(input, "sched_gavel", {table}));
    ORRERY_TRY(const std::string speeds_text, read_data_file(input.files, speeds_path));
    ORRERY_TRY(const PackedSpeeds speeds, PackedSpeeds::parse(speeds_text, kTypes));
    GavelOptions options;
    ORRERY_TRY(options.gpus, gpus_of(json.value("cluster_v100_p100_k80", "")));
    options.round_s = json.value("round_s", options.round_s);
    ORRERY_TRY(const std::string trace_path, find_input(input, "sched_gavel", {trace, "traces/" + trace}));
    ORRERY_TRY(const GavelJobs jobs, read_gavel_jobs(input.files, trace_path, speeds));
    const bool several = std::count(options.gpus.begin(), options.gpus.end(), 0) < 2;
    for (const auto& result : json["results"]) {
      const std::string policy = result.value("policy", "");
      const double mean_s = result.value("avg_jct_s", 0.0), makespan_s = result.value("makespan_s", 0.0);
      if (!is_gavel_policy(policy)) {
        cases.push_back({*stem, policy, "mean completion time, s", mean_s, 0, Target::kNone, 0, 0,
                         "no policy of ours has this name"});
        continue;
      }
      const auto tolerance = tolerance_of(result.value("tolerance", ""), several);
      const double start = input.now_s();
      ORRERY_TRY(const GavelResult run, simulate_gavel(jobs, speeds, policy, options));
      const double seconds = input.now_s() - start;
      double sum = 0;
      for (const double completion_s : run.completion_s) sum += completion_s;
      const Target target = tolerance ? Target::kWithin : Target::kNone;
      const std::string note = tolerance ? "" : result.value("tolerance", "");
      cases.push_back({*stem, policy, "mean completion time, s", mean_s, sum / static_cast<double>(jobs.size()), target,
                       tolerance.value_or(0), seconds, note});
      cases.push_back(
          {*stem, policy, "makespan, s", makespan_s, run.makespan_s, target, tolerance.value_or(0), seconds, note});
    }
  }
  return cases;
}

}  // namespace orrery::lab
