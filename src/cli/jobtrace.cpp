#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_traces.h"
#include "env/files.h"
#include "simulate/generate.h"

namespace orrery::cli {

namespace {

using simulate::JobTraceFile;
using simulate::TraceJob;

struct SizeClass {
  std::int64_t jobs = 0;
  double gpu_s = 0;
  std::vector<double> lengths_s;
};

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

Status run_show(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const JobTraceFile file, load_job_trace(context, arguments.words[0], options));
  if (options.flag("problems")) return context.print_table(problem_table(file), options);
  if (for_people(options)) {
    const simulate::JobTrace& job_trace = file.job_trace;
    context.print(fmt::format("{}: {} jobs of {} tenants in form {}, submitted over {}\n\n", job_trace.name,
                              format_whole(static_cast<double>(job_trace.jobs.size())), job_trace.tenants.size(),
                              file.format,
                              format_seconds(Seconds(schedule::to_seconds(job_trace.jobs.back().facts.submit_ns)))));
  }
  ORRERY_TRY_VOID(context.print_table(size_table(file.job_trace), options));
  if (!for_people(options)) return {};
  if (!file.unread.empty()) {
    context.print(fmt::format("columns that form {} has no use for: {}\n", file.format, fmt::join(file.unread, ", ")));
  }
  context.print(problems_text(file, 5));
  return {};
}

Status write_job_trace(Context& context, const simulate::JobTrace& job_trace, const OptionValues& options) {
  const std::string& path = options.text("out");
  const std::string text = path.ends_with(".jsonl") ? simulate::to_jsonl(job_trace) : simulate::to_csv(job_trace);
  ORRERY_TRY_VOID(context.env.files.write_atomically(path, text));
  context.print(fmt::format("wrote {} jobs to {}\n", format_whole(static_cast<double>(job_trace.jobs.size())), path));
  return {};
}

Status run_convert(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const JobTraceFile file, load_job_trace(context, arguments.words[0], arguments.options));
  context.print(problems_text(file, 5));
  return write_job_trace(context, file.job_trace, arguments.options);
}

Status run_generate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  simulate::GenerateOptions wanted;
  wanted.jobs = static_cast<std::size_t>(options.integer("jobs"));
  wanted.rate_per_h = options.number("rate");
  wanted.tenants = static_cast<int>(options.integer("tenants"));
  wanted.seed = static_cast<std::uint64_t>(options.integer("seed"));
  const std::string& arrivals = options.text("arrivals");
  if (arrivals == "diurnal") wanted.arrivals = simulate::Arrivals::kDiurnal;
  if (arrivals == "bursts") wanted.arrivals = simulate::Arrivals::kBursts;
  if (options.text("mix") == "optimus") wanted.mix = simulate::Mix::kOptimus;
  if (options.text("mix") == "polimi") wanted.mix = simulate::Mix::kPolimi;
  return write_job_trace(context, simulate::generate(wanted), options);
}

OptionRecord out_option() {
  return text_option("out", "", "where to write it: CSV, or one JSON object per line for a name that ends in .jsonl")
      .in("FILE")
      .required();
}

}  // namespace

Command jobtrace_show_command() {
  return {"jobtrace show",
          "TRACE",
          1,
          1,
          "show the jobs of a trace by size, and what is wrong with it",
          join(join({flag_option("problems", "list the rows that were skipped, by line")}, job_trace_options()),
               table_options()),
          {"orrery jobtrace show jobs.csv", "orrery jobtrace show jobs.csv --problems --json"},
          run_show};
}

Command jobtrace_convert_command() {
  return {"jobtrace convert",
          "TRACE",
          1,
          1,
          "write a trace in our own form",
          join({out_option()}, job_trace_options()),
          {"orrery jobtrace convert philly.csv.gz --out philly.jsonl"},
          run_convert};
}

Command jobtrace_generate_command() {
  return {"jobtrace generate",
          "",
          0,
          0,
          "make up a trace: Poisson, diurnal or bursty arrivals of a mix of jobs",
          {out_option(), integer_option("jobs", 1000, "how many").bounds(1, 2e7),
           number_option("rate", 60, "submissions per hour, on average").bounds(0.001, 1e7),
           choice_option("arrivals", "poisson", {"poisson", "diurnal", "bursts"}, "how they are spread over time"),
           choice_option("mix", "philly", {"philly", "optimus", "polimi"}, "sizes and lengths"),
           integer_option("tenants", 8, "who submit them").bounds(1, 10'000),
           integer_option("seed", 1, "of every random choice").bounds(0, 1e15)},
          {"orrery jobtrace generate --jobs 500 --arrivals diurnal --out made.csv"},
          run_generate};
}

}  // namespace orrery::cli
