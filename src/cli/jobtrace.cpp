#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "env/files.h"
#include "service/job_trace_requests.h"

namespace orrery::cli {

namespace {

using simulate::JobTraceFile;

Result<JobTraceFile> read_trace(Context& context, const OptionValues& options) {
  ORRERY_TRY(const service::JobTraceRequest request, service::job_trace_request_fields().read(options));
  return service::read_job_trace(context.env, request);
}

Status run_show(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const JobTraceFile file, read_trace(context, options));
  if (options.flag("problems")) return context.print_table(service::problem_table(file), options);
  if (for_people(options)) {
    const simulate::JobTrace& job_trace = file.job_trace;
    context.print(fmt::format("{}: {} jobs of {} tenants in form {}, submitted over {}\n\n", job_trace.name,
                              format_whole(static_cast<double>(job_trace.jobs.size())), job_trace.tenants.size(),
                              file.format,
                              format_seconds(Seconds(schedule::to_seconds(job_trace.jobs.back().facts.submit_ns)))));
  }
  ORRERY_TRY_VOID(context.print_table(service::size_table(file.job_trace), options));
  if (!for_people(options)) return {};
  if (!file.unread.empty()) {
    context.print(fmt::format("columns that form {} has no use for: {}\n", file.format, fmt::join(file.unread, ", ")));
  }
  context.print(service::problems_text(file, 5));
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
  ORRERY_TRY(const JobTraceFile file, read_trace(context, arguments.options));
  context.print(service::problems_text(file, 5));
  return write_job_trace(context, file.job_trace, arguments.options);
}

Status run_generate(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::GenerateRequest request, service::generate_fields().read(arguments.options));
  return write_job_trace(context, service::generate_job_trace(request), arguments.options);
}

OptionRecord out_option() {
  return text_option("out", "", "file to write: CSV, or one JSON object per line if its name ends in .jsonl")
      .in("FILE")
      .required();
}

}  // namespace

Command jobtrace_show_command() {
  return {"jobtrace show",
          "summarise the jobs of a job trace by size, and its problems",
          join(join(service::job_trace_request_fields().records(),
                    {flag_option("problems", "list the skipped rows, by line")}),
               table_options()),
          {"orrery jobtrace show jobs.csv", "orrery jobtrace show jobs.csv --problems --json"},
          run_show};
}

Command jobtrace_convert_command() {
  return {"jobtrace convert",
          "convert a job trace to Orrery's own format",
          join(service::job_trace_request_fields().records(), {out_option()}),
          {"orrery jobtrace convert philly.csv.gz --out philly.jsonl"},
          run_convert};
}

Command jobtrace_generate_command() {
  return {"jobtrace generate",
          "generate a synthetic job trace: Poisson, diurnal or bursty arrivals of a mix of jobs",
          join({out_option()}, service::generate_fields().records()),
          {"orrery jobtrace generate --jobs 500 --arrivals diurnal --out made.csv"},
          run_generate};
}

}  // namespace orrery::cli
