#include "lab/evaluate/gavel_table.h"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/text.h"

namespace orrery::lab {

namespace {

struct JobKey {
  std::string model;
  std::optional<double> batch;
  double replicas = 1;
};

// ('ResNet-18 (batch size 16)', 2)
Result<JobKey> parse_key(std::string_view key) {
  const auto wrong = [&] { return Error::invalid(fmt::format("{} is not a job and its GPUs", quote(key))); };
  constexpr std::string_view kBegin = "('", kMiddle = "', ", kEnd = ")", kBatch = " (batch size ";
  const std::size_t middle = key.rfind(kMiddle);
  if (!key.starts_with(kBegin) || !key.ends_with(kEnd) || middle == std::string_view::npos || middle < kBegin.size()) {
    return wrong();
  }
  const std::size_t number = middle + kMiddle.size();
  const auto replicas = parse_number(key.substr(number, key.size() - number - kEnd.size()));
  if (!replicas || !(*replicas >= 1) || !std::isfinite(*replicas)) return wrong();
  const std::string_view name = key.substr(kBegin.size(), middle - kBegin.size());
  JobKey job{std::string(name), std::nullopt, *replicas};
  const std::size_t size = name.find(kBatch);
  if (size == std::string_view::npos) return job;
  const std::size_t begin = size + kBatch.size();
  const auto batch = name.ends_with(kEnd) ? parse_number(name.substr(begin, name.size() - begin - kEnd.size()))
                                          : std::optional<double>();
  if (!batch || !(*batch > 0) || !std::isfinite(*batch)) return wrong();
  job.model = std::string(name.substr(0, size));
  job.batch = *batch;
  return job;
}

bool is_same_table(const GavelRun& a, const GavelRun& b) {
  return a.model == b.model && a.gpus == b.gpus;
}

// Every run on several GPUs from those that `is_hidden(run, other)` does not hide.
template <class Hidden>
Status leave_out(const std::vector<GavelRun>& runs, const char* group, Hidden is_hidden, std::vector<LeftOut>& out) {
  for (const GavelRun& run : runs) {
    if (run.run.replicas <= 1) continue;
    std::vector<ScaledRun> known;
    for (const GavelRun& other : runs) {
      if (is_same_table(run, other) && !is_hidden(run, other)) known.push_back(other.run);
    }
    if (known.empty()) continue;
    ORRERY_TRY(const double predicted_s, scaled_seconds(known, run.run));
    out.push_back(left_out_of(group, run.run.seconds, predicted_s, run.model));
  }
  return {};
}

}  // namespace

Result<std::vector<GavelRun>> parse_gavel_table(std::string_view json) {
  const auto table = nlohmann::json::parse(json, nullptr, false);
  if (!table.is_object()) return Error::invalid("not a JSON object of GPUs");
  std::vector<GavelRun> runs;
  std::map<std::tuple<std::string, std::string, double>, double> alone;  // seconds by model, GPUs, batch
  for (const auto& [gpus, jobs] : table.items()) {
    if (!jobs.is_object()) return Error::invalid(fmt::format("{}: not an object of jobs", gpus));
    for (const auto& [key, rates] : jobs.items()) {
      ORRERY_TRY(const JobKey job, parse_key(key));
      const auto rate = rates.is_object() ? rates.find("null") : rates.end();
      if (rate == rates.end() || !rate->is_number())
        return Error::invalid(fmt::format("{} {}: no rate alone", gpus, key));
      const double steps_per_s = *rate;
      if (!(steps_per_s > 0) || !std::isfinite(steps_per_s) || !job.batch) continue;
      const double seconds = job.replicas / steps_per_s;
      if (job.replicas == 1) alone[{job.model, gpus, *job.batch}] = seconds;
      runs.push_back({job.model, gpus, {*job.batch, job.replicas, 0, seconds}});
    }
  }
  std::erase_if(runs, [&](GavelRun& run) {
    const auto found = alone.find({run.model, run.gpus, run.run.batch});
    if (found == alone.end()) return true;
    run.run.alone_s = found->second;
    return false;
  });
  return runs;
}

Result<std::vector<Case>> gavel_cases(env::Files& files, const std::string& folder) {
  constexpr const char* kFile = "simulation_throughputs.json.gz";
  ORRERY_TRY(const std::string json, read_data(files, folder, kFile));
  auto runs = parse_gavel_table(json);
  if (!runs) return std::move(runs).error().with_context(fmt::format("{}/{}", folder, kFile));
  std::vector<LeftOut> one, whole;
  ORRERY_TRY_VOID(leave_out(
      *runs, "gavel",
      [](const GavelRun& run, const GavelRun& other) {
        return other.run.batch == run.run.batch && other.run.replicas == run.run.replicas;
      },
      one));
  ORRERY_TRY_VOID(leave_out(
      *runs, "gavel, number never seen",
      [](const GavelRun& run, const GavelRun& other) { return other.run.replicas == run.run.replicas; }, whole));
  ORRERY_TRY(std::vector<Case> cases, calibrated_cases(one));
  ORRERY_TRY(const std::vector<Case> more, calibrated_cases(whole));
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

}  // namespace orrery::lab
