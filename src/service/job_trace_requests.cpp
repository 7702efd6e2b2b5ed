#include "service/job_trace_requests.h"

#include <algorithm>
#include <map>

namespace orrery::service {

using simulate::JobTraceFile;
using simulate::TraceJob;

const Fields<JobTraceRequest>& job_trace_request_fields() {
  static const auto kFields = Fields<JobTraceRequest>()
                                  .add(&JobTraceRequest::trace, trace_option())
                                  .add(&JobTraceRequest::read, job_trace_fields());
  return kFields;
}

Result<JobTraceFile> read_job_trace(env::Env env, const JobTraceRequest& request) {
  return load_job_trace(env, request.trace, request.read);
}

namespace {

struct SizeClass {
  std::int64_t jobs = 0;
  double gpu_s = 0;
  std::vector<double> lengths_s;
};

}  // namespace

Table size_table(const simulate::JobTrace& job_trace) {
  std::map<std::int32_t, SizeClass> classes;
  double all = 0;
  for (const TraceJob& job : job_trace.jobs) {
    SizeClass& of_size = classes[job.facts.gpus];
    const double seconds = schedule::to_seconds(job.facts.work_ns);
    ++of_size.jobs;
    of_size.gpu_s += seconds * job.facts.gpus;
    of_size.lengths_s.push_back(seconds);
    all += seconds * job.facts.gpus;
  }
  Table table({{"gpus", "GPUs", CellFormat::kInteger},
               {"jobs", "jobs", CellFormat::kInteger},
               {"median_s", "median length", CellFormat::kSeconds},
               {"longest_s", "longest", CellFormat::kSeconds},
               {"gpu_hours", "GPU hours", CellFormat::kCount},
               {"gpu_time_share", "of GPU time", CellFormat::kPercent}});
  for (auto& entry : classes) {
    std::vector<double>& lengths = entry.second.lengths_s;
    std::sort(lengths.begin(), lengths.end());
    table.add({std::int64_t{entry.first}, entry.second.jobs, lengths[lengths.size() / 2], lengths.back(),
               entry.second.gpu_s / 3600, all > 0 ? entry.second.gpu_s / all : 0});
  }
  return table;
}

Table problem_table(const JobTraceFile& file) {
  Table table({{"line", "line", CellFormat::kInteger}, {"problem", "problem"}});
  for (const simulate::ReadProblem& problem : file.problems) {
    table.add({static_cast<std::int64_t>(problem.line), problem.what});
  }
  return table;
}

namespace {

Result<simulate::Arrivals> parse_arrivals(const std::string& name) {
  return name == "diurnal"  ? simulate::Arrivals::kDiurnal
         : name == "bursts" ? simulate::Arrivals::kBursts
                            : simulate::Arrivals::kPoisson;
}

Result<simulate::Mix> parse_mix(const std::string& name) {
  return name == "optimus"  ? simulate::Mix::kOptimus
         : name == "polimi" ? simulate::Mix::kPolimi
                            : simulate::Mix::kPhilly;
}

Fields<simulate::GenerateOptions> generate_option_fields() {
  using G = simulate::GenerateOptions;
  return Fields<G>()
      .add(&G::jobs, integer_option("jobs", 1000, "number of jobs").bounds(1, 2e7))
      .add(&G::rate_per_h, number_option("rate", 60, "mean submissions per hour").bounds(0.001, 1e7))
      .add(&G::arrivals,
           choice_option("arrivals", "poisson", {"poisson", "diurnal", "bursts"},
                         "how submissions are spread over time"),
           parse_arrivals)
      .add(&G::mix,
           choice_option("mix", "philly", {"philly", "optimus", "polimi"}, "distribution of job sizes and lengths"),
           parse_mix)
      .add(&G::tenants, integer_option("tenants", 8, "number of tenants that submit jobs").bounds(1, 10'000))
      .add(&G::seed, integer_option("seed", 1, "seed of every random choice").bounds(0, 1e15));
}

}  // namespace

const Fields<GenerateRequest>& generate_fields() {
  static const auto kFields = Fields<GenerateRequest>().add(&GenerateRequest::options, generate_option_fields());
  return kFields;
}

simulate::JobTrace generate_job_trace(const GenerateRequest& request) {
  return simulate::generate(request.options);
}

}  // namespace orrery::service
