// Muri's 400 jobs that really ran on 64 V100: mean completion time and makespan within 15 % of reality.
//
// The authors' scheduler decides every six minutes. Work is iterations x measured iteration time; nothing is fitted.
// simulated.csv has metrics of their simulator, which takes a cost off every running job at every event: a sanity band.

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "lab/lab.h"
#include "lab/reference/kinds.h"
#include "schedule/policies.h"
#include "simulate/data_file.h"
#include "simulate/engine.h"
#include "simulate/readers/reader.h"

namespace orrery::lab {

namespace {

constexpr double kTolerance = 0.15;
constexpr double kRoundS = 360;
constexpr int kGpusPerMachine = 8, kSimulatedMachines = 8;

const std::map<std::string, std::string, std::less<>> kNames = {
    {"SRTF", "srtf"},     {"SRSF", "srsf"},     {"tiresias", "las"},      {"Muri-S", "muri-s"},
    {"Muri-L", "muri-l"}, {"shortest", "srtf"}, {"shortest-gpu", "srsf"}, {"dlas-gpu", "las"}};

struct Instance {
  std::string name;
  std::string policy;
  std::string trace;
  int machines = 0;
  double mean_s = 0, makespan_s = 0;
  bool real = false;
};

Result<std::vector<ReferenceCase>> run_case(const ReferenceInput& input, const Instance& instance) {
  const auto known = kNames.find(instance.policy);
  if (known == kNames.end()) {
    return std::vector<ReferenceCase>{{instance.name, instance.policy, "mean completion time, s", instance.mean_s, 0,
                                       Target::kNone, 0, 0, "no policy of ours has this name"}};
  }
  ORRERY_TRY(const std::string path, find_input(input, "muri", {instance.trace + ".csv"}));
  ORRERY_TRY(const std::string text, read_data_file(input.files, path));
  ORRERY_TRY(const JobTraceFile file, read_job_trace(text, path, {.format = "muri", .strict = true}));
  schedule::PolicyInputs inputs;
  ORRERY_TRY(std::unique_ptr<schedule::Policy> policy, schedule::make_policy(known->second, inputs));
  const schedule::Machines machines(static_cast<std::size_t>(instance.machines), {.gpus = kGpusPerMachine});
  EngineOptions options;
  if (instance.real) options.round_ns = schedule::from_seconds(kRoundS);
  const double start = input.now_s();
  ORRERY_TRY(const RunResult run, simulate::simulate(
                                      file.job_trace, machines, CurveSpeed({}),
                                      [&](const schedule::ClusterView&) { return std::move(policy); }, options));
  const double seconds = input.now_s() - start;
  double sum = 0;
  for (const JobIndex j : run.jobs.indices()) {
    sum += schedule::to_seconds(run.jobs[j].end_ns - file.job_trace.jobs[j].facts.submit_ns);
  }
  return std::vector<ReferenceCase>{{instance.name, instance.policy, "mean completion time, s", instance.mean_s,
                                     sum / static_cast<double>(run.jobs.size()), Target::kWithin, kTolerance, seconds},
                                    {instance.name, instance.policy, "makespan, s", instance.makespan_s,
                                     schedule::to_seconds(run.makespan_ns), Target::kWithin, kTolerance, seconds}};
}

// "testbed_64xV100.csv" has 64 GPUs.
Result<int> machines_of(const std::string& name) {
  const std::size_t begin = name.find('_') + 1;
  const auto gpus = parse_number(name.substr(begin, name.find('x', begin) - begin));
  if (!gpus || *gpus < kGpusPerMachine || *gpus > 1e6) {
    return Error::invalid(
        fmt::format("{}: expected a name such as testbed_64xV100.csv, with the number of GPUs", name));
  }
  return static_cast<int>(*gpus) / kGpusPerMachine;
}

Result<std::vector<Instance>> read_instances(const ReferenceInput& input, const std::string& name, bool real) {
  ORRERY_TRY(const CsvTable table, read_csv_file(input.files, input.folder + "/" + name));
  std::vector<Instance> instances;
  for (const CsvRow& row : table.rows) {
    Instance& instance = instances.emplace_back();
    instance.real = real;
    ORRERY_TRY(instance.policy, text_field(table, row, real ? "scheduler" : "policy"));
    ORRERY_TRY(instance.mean_s, number_field(table, row, "avg_jct_s"));
    ORRERY_TRY(instance.makespan_s, number_field(table, row, "makespan_s"));
    if (real) {
      instance.name = *stem_of(name, ".csv");
      instance.trace = "testbed_trace";
      ORRERY_TRY(instance.machines, machines_of(name));
    } else {
      ORRERY_TRY(instance.trace, text_field(table, row, "trace"));
      instance.name = instance.trace + ", simulated";
      instance.machines = kSimulatedMachines;
    }
  }
  return instances;
}

}  // namespace

Result<std::vector<ReferenceCase>> run_muri_results(const ReferenceInput& input,
                                                    const std::vector<std::string>& names) {
  std::vector<ReferenceCase> cases;
  for (const std::string& name : names) {
    const bool real = name.starts_with("testbed_") && stem_of(name, ".csv").has_value();
    if (!real && stem_of(name, ".csv") != "simulated") continue;
    ORRERY_TRY(const std::vector<Instance> instances, read_instances(input, name, real));
    for (const Instance& instance : instances) {
      ORRERY_TRY(const std::vector<ReferenceCase> found, run_case(input, instance));
      cases.insert(cases.end(), found.begin(), found.end());
    }
  }
  return cases;
}

}  // namespace orrery::lab
