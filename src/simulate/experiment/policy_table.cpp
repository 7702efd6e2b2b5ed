#include "simulate/experiment/policy_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "simulate/data_file.h"
#include "simulate/experiment/completion_bound.h"
#include "simulate/generate.h"
#include "simulate/goodput/application.h"
#include "simulate/readers/reader.h"
#include "simulate/runner.h"

namespace orrery::simulate {

namespace {

struct TraceFile {
  const char* name;
  const char* path;
  const char* speeds;  // "": none needed; a file, or a folder of measured applications
};
constexpr TraceFile kTraces[] = {
    {"philly", "philly/philly_jobs.csv", ""},
    {"philly SLO mix", "chronus_philly_slo/philly_mix1.csv", ""},
    {"alibaba 2023", "alibaba_gpu_2023/openb_pod_list_default.csv", ""},
    {"muri 1", "muri/trace1.csv", ""},
    {"muri 3", "muri/trace3.csv", ""},
    {"muri testbed", "muri/testbed_trace.csv", ""},
    {"tiresias 60", "tiresias/60_job.csv", ""},
    {"gavel physical", "sched_gavel/traces/physical_max_min_fairness.csv", "sched_gavel/simulation_throughputs.json"},
    {"gavel philly 11cb48", "sched_gavel/traces/philly_vc_11cb48.csv", "sched_gavel/simulation_throughputs.json"},
    {"elasticflow", "elasticflow/philly_103959_ddl.csv", ""},
    {"shockwave 120", "shockwave/traces/dynamic_120.csv", "shockwave/tacc_throughputs.json"},
    {"shockwave 220", "shockwave/traces/dynamic_220.csv", "shockwave/tacc_throughputs.json"},
    {"shockwave 460", "shockwave/traces/dynamic_460.csv", "shockwave/tacc_throughputs.json"},
    {"gavel philly 0e4a51", "sched_gavel/traces/philly_vc_0e4a51.csv", "sched_gavel/simulation_throughputs.json"},
    {"gavel philly 103959", "sched_gavel/traces/philly_vc_103959.csv", "sched_gavel/simulation_throughputs.json"},
    {"gavel philly 7f04ca", "sched_gavel/traces/philly_vc_7f04ca.csv", "sched_gavel/simulation_throughputs.json"},
    {"gavel philly b436b2", "sched_gavel/traces/philly_vc_b436b2.csv", "sched_gavel/simulation_throughputs.json"},
    {"gavel philly 6214e9", "sched_gavel/traces/philly_vc_6214e9.csv", "sched_gavel/simulation_throughputs.json"},
    {"pollux load 0.5", "sched_pollux_sia/workloads/pollux-load0.5/workload-1.csv", "sched_pollux_sia"},
    {"pollux load 1.5", "sched_pollux_sia/workloads/pollux-load1.5/workload-1.csv", "sched_pollux_sia"},
    {"pollux realistic", "sched_pollux_sia/workloads/pollux-loadrealistic/workload-1.csv", "sched_pollux_sia"},
    {"sia philly", "sched_pollux_sia/workloads/sia-philly/workload-1.csv", "sched_pollux_sia"},
    {"sia new trace", "sched_pollux_sia/workloads/sia-newtrace/workload-1.csv", "sched_pollux_sia"},
    {"sia saturn", "sched_pollux_sia/workloads/sia-saturn/workload-1.csv", "sched_pollux_sia"},
    {"pollux load 1", "sched_pollux_sia/workloads/pollux-load1.0/workload-1.csv", "sched_pollux_sia"},
    {"pollux load 1 b", "sched_pollux_sia/workloads/pollux-load1.0/workload-6.csv", "sched_pollux_sia"},
};

Result<SpeedTable> read_speeds(env::Files& files, const std::string& path) {
  if (path.ends_with(".json")) {
    ORRERY_TRY(const std::string text, read_data_file(files, path));
    return SpeedTable::parse(text);
  }
  ORRERY_TRY(const Applications applications, read_applications(files, path, "aws"));
  return SpeedTable::of(applications);
}

JobTrace cut(const JobTrace& job_trace, std::size_t jobs_max) {
  JobTrace result = job_trace;
  if (result.jobs.size() > jobs_max) result.jobs.resize(jobs_max);
  // One type of GPU, the fastest of each job: speeds by type are not compared here.
  result.devices.clear();
  result.speeds.clear();
  for (TraceJob& job : result.jobs) job.facts.speed_class = 0;
  return result;
}

constexpr int kBoundRounds = 80;

double least_mean_s(const JobTrace& job_trace, const RunSetup& setup, int gpus) {
  const CurveSpeed curve(setup.curve);
  std::map<int, schedule::Speedup> speedups;  // by the most GPUs
  std::vector<BoundJob> jobs;
  for (const TraceJob& job : job_trace.jobs) {
    const int asked = job.facts.gpus;
    const int elastic = job.facts.gpus_max > 0 ? job.facts.gpus_max : static_cast<int>(asked * setup.elastic);
    const int most = std::min(gpus, std::max(asked, elastic));
    auto known = speedups.find(most);
    if (known == speedups.end()) {
      std::vector<double> speeds;
      for (int k = 1; k <= most; ++k) speeds.push_back(1 / curve.step_share(k));
      known = speedups.emplace(most, schedule::Speedup(std::move(speeds))).first;
    }
    jobs.push_back({schedule::to_seconds(job.facts.submit_ns),
                    schedule::to_seconds(job.facts.work_ns) / curve.step_share(asked), &known->second});
  }
  return least_mean_completion_s(jobs, gpus, kBoundRounds);
}

double gpus_of_load(const JobTrace& job_trace, double load) {
  const double span_s =
      schedule::to_seconds(job_trace.jobs.back().facts.submit_ns - job_trace.jobs.front().facts.submit_ns);
  return gpu_seconds(job_trace) / std::max(span_s, 1.0) / load;
}

double largest_job(const JobTrace& job_trace) {
  int largest = 1;
  for (const TraceJob& job : job_trace.jobs) largest = std::max(largest, job.facts.gpus);
  return largest;
}

std::size_t machines_with(double gpus) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(gpus / kGpusPerMachine - 1e-9)));
}

}  // namespace

std::size_t machines_for(const JobTrace& job_trace, double load) {
  return std::max(machines_with(gpus_of_load(job_trace, load)), machines_with(largest_job(job_trace)));
}

JobTrace hurried(const JobTrace& job_trace, double load) {
  const double wanted = gpus_of_load(job_trace, load);
  JobTrace result = job_trace;
  if (machines_with(wanted) >= machines_with(largest_job(job_trace))) return result;
  const double factor = wanted / static_cast<double>(machines_for(job_trace, load) * kGpusPerMachine);
  const TimeNs first = job_trace.jobs.front().facts.submit_ns;
  for (TraceJob& job : result.jobs) {
    const TimeNs before = job.facts.submit_ns;
    job.facts.submit_ns = first + static_cast<TimeNs>(static_cast<double>(before - first) * factor);
    if (job.facts.deadline_ns != kNever) job.facts.deadline_ns -= before - job.facts.submit_ns;
  }
  return result;
}

Result<std::vector<RealTrace>> read_real_traces(env::Files& files, const std::string& data) {
  std::vector<RealTrace> traces;
  for (const TraceFile& file : kTraces) {
    const std::string path = data + "/" + file.path;
    if (!files.exists(path) && !files.exists(path + ".gz")) continue;
    ReadOptions options;
    options.predict_speeds = true;
    if (*file.speeds != 0) {
      ORRERY_TRY(options.speeds, read_speeds(files, data + "/" + file.speeds));
    }
    ORRERY_TRY(const std::string text, read_data_file(files, path));
    ORRERY_TRY(JobTraceFile read, read_job_trace(text, path, options));
    if (read.job_trace.jobs.size() > 1) traces.push_back({file.name, std::move(read.job_trace)});
  }
  if (traces.empty()) {
    return Error::not_found(
        fmt::format("{}: none of the traces is there; set ORRERY_DATA to the folder that holds data/", data));
  }
  return traces;
}

Result<std::vector<PolicyCell>> run_policy_table(const std::vector<RealTrace>& traces,
                                                 const PolicyTableOptions& options, const std::function<void()>& done) {
  std::vector<std::string> policies = options.policies;
  std::erase(policies, options.ours);
  policies.push_back(options.ours);
  std::vector<PolicyCell> cells;
  for (const RealTrace& trace : traces) {
    const JobTrace first = cut(trace.job_trace, options.jobs_max);
    for (const double load : options.loads) {
      const JobTrace job_trace = hurried(first, load);
      RunSetup setup;
      setup.machines.assign(machines_for(first, load), {.gpus = kGpusPerMachine});
      setup.engine.costs.resume_ns = setup.engine.costs.move_ns = schedule::from_seconds(options.restart_s);
      setup.engine.prediction_sigma = options.prediction_sigma;
      PolicyCell& cell = cells.emplace_back();
      cell.trace = trace.name;
      cell.gpus = static_cast<int>(setup.machines.size()) * kGpusPerMachine;
      cell.load = load;
      std::vector<Result<RunResult>> runs = run_policies(job_trace, setup, policies, options.threads, done);
      for (std::size_t p = 0; p < policies.size(); ++p) {
        if (!runs[p]) return std::move(runs[p]).error().with_context(trace.name);
        cell.runs.push_back(summarise(job_trace, *runs[p], cell.gpus, 0));
        cell.runs.back().policy = policies[p];
      }
      cell.least_mean_s = least_mean_s(job_trace, setup, cell.gpus);
    }
  }
  return cells;
}

Table winners_table(const std::vector<PolicyCell>& cells) {
  Table table({{"trace", "trace"},
               {"load", "load", CellFormat::kNumber},
               {"gpus", "GPUs", CellFormat::kInteger},
               {"best_mean", "best mean"},
               {"best_mean_s", "", CellFormat::kSeconds},
               {"ours_mean_s", "ours", CellFormat::kSeconds},
               {"mean_ratio", "ratio", CellFormat::kNumber},
               {"least_ratio", "possible", CellFormat::kNumber},
               {"best_p99", "best p99"},
               {"best_p99_s", "", CellFormat::kSeconds},
               {"ours_p99_s", "ours", CellFormat::kSeconds},
               {"best_fairness", "fairest"},
               {"best_fairness_index", "", CellFormat::kNumber},
               {"ours_fairness_index", "ours", CellFormat::kNumber}});
  for (const PolicyCell& cell : cells) {
    const Summary& ours = cell.runs.back();
    const auto published_end = cell.runs.end() - 1;
    const auto least = [&](double Summary::*figure) {
      return std::min_element(cell.runs.begin(), published_end,
                              [figure](const Summary& a, const Summary& b) { return a.*figure < b.*figure; });
    };
    const auto mean = least(&Summary::mean_s), p99 = least(&Summary::p99_s);
    const auto fair = std::max_element(cell.runs.begin(), published_end,
                                       [](const Summary& a, const Summary& b) { return a.fairness < b.fairness; });
    table.add({cell.trace, cell.load, static_cast<std::int64_t>(cell.gpus), mean->policy, mean->mean_s, ours.mean_s,
               ours.mean_s / mean->mean_s, cell.least_mean_s / mean->mean_s, p99->policy, p99->p99_s, ours.p99_s,
               fair->policy, fair->fairness, ours.fairness});
  }
  return table;
}

Table all_table(const std::vector<PolicyCell>& cells) {
  Table table({{"trace", "trace"},
               {"load", "load", CellFormat::kNumber},
               {"gpus", "GPUs", CellFormat::kInteger},
               {"policy", "policy"},
               {"elastic", "elastic"},
               {"jobs", "jobs", CellFormat::kInteger},
               {"mean_s", "mean", CellFormat::kSeconds},
               {"least_mean_s", "possible", CellFormat::kSeconds},
               {"p99_s", "p99", CellFormat::kSeconds},
               {"fairness", "fairness", CellFormat::kNumber},
               {"slowdown", "slowdown", CellFormat::kNumber},
               {"utilisation", "GPUs used", CellFormat::kPercent},
               {"restarts", "restarts", CellFormat::kNumber}});
  for (const PolicyCell& cell : cells) {
    for (const Summary& run : cell.runs) {
      table.add({cell.trace, cell.load, static_cast<std::int64_t>(cell.gpus), run.policy,
                 schedule::needs_elastic_jobs(run.policy), run.jobs, run.mean_s, cell.least_mean_s, run.p99_s,
                 run.fairness, run.slowdown, run.utilisation, run.restarts});
    }
  }
  return table;
}

}  // namespace orrery::simulate
