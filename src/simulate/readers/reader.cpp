#include "simulate/readers/reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/text.h"
#include "simulate/readers/csv_forms.h"
#include "simulate/readers/text_forms.h"

namespace orrery::simulate {

namespace {

constexpr std::size_t kFieldBytesMax = 1 << 16;

struct TextForm {
  std::string_view name;
  std::string_view summary;
  Status (*read)(std::string_view text, JobSink& sink);
};
constexpr TextForm kTextForms[] = {
    {"swf", "Standard Workload Format", read_swf},
    {"sacct", "sacct --parsable2 of Slurm", read_sacct},
    {"jsonl", "our own form, one JSON object per line", read_jsonl},
};

// The header of PAI's task table, which its files do not have.
constexpr std::string_view kPaiColumns =
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type";

const CsvForm* form_named(std::string_view name) {
  for (const CsvForm& form : csv_forms()) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

const CsvForm* form_of(const Columns& columns) {
  for (const CsvForm& form : csv_forms()) {
    const bool all = std::all_of(form.columns.begin(), form.columns.end(),
                                 [&](const std::string& column) { return columns.has(column); });
    if (all) return &form;
  }
  return nullptr;
}

std::string_view first_line(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return trim(text.substr(0, std::min(text.find('\n'), text.size())));
}

// The form other than CSV that a text has; nullptr if it may be CSV.
const TextForm* looks_like(std::string_view text) {
  const std::string_view line = first_line(text);
  if (line.starts_with('{')) return &kTextForms[2];
  if (line.starts_with(';')) return &kTextForms[0];
  if (line.find('|') != std::string_view::npos && line.find("JobID") != std::string_view::npos) return &kTextForms[1];
  const bool numbers = !line.empty() && line.find_first_not_of("0123456789.- \t") == std::string_view::npos;
  return numbers ? &kTextForms[0] : nullptr;
}

bool is_pai_without_header(std::string_view text) {
  const std::vector<std::string> fields = split(first_line(text), ',');
  return fields.size() == 10 && parse_number(fields[2]) && (fields[4].empty() || parse_number(fields[4])) &&
         (fields[8].empty() || parse_number(fields[8]));
}

Status read_rows(CsvReader& reader, const Columns& columns, const CsvForm& form, const ReadOptions& options,
                 JobSink& sink) {
  CsvRow row;
  while (!reader.at_end()) {
    if (const Status status = reader.next(row); !status) {
      ORRERY_TRY_VOID(sink.skip(row.line, status.error().message()));
      continue;
    }
    if (row.fields.size() != columns.count()) {
      ORRERY_TRY_VOID(
          sink.skip(row.line, fmt::format("{} fields, the header has {}", row.fields.size(), columns.count())));
      continue;
    }
    RowReader fields(columns, row.fields);
    RawJob job;
    std::string predicted;
    const bool is_job = form.read(fields, {options.speeds, options.predict_speeds, &predicted}, job);
    if (!is_job) {
      sink.ignore();
      continue;
    }
    // Some traces have no ids; the line is one.
    if (job.id.empty()) job.id = std::to_string(row.line - 1);
    ORRERY_TRY_VOID(fields.fault().empty() ? sink.add(row.line, job) : sink.skip(row.line, fields.fault()));
    if (!predicted.empty()) sink.predicted(row.line, std::move(predicted));
  }
  return {};
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const JobTraceFormat& format : job_trace_formats()) names.push_back(format.name);
  return names;
}

Status read_csv(std::string_view text, const std::string& file, const ReadOptions& options, JobTraceFile& result,
                JobSink& sink) {
  CsvReader reader(text, kFieldBytesMax);
  if (reader.at_end()) return Error::invalid(fmt::format("{}: empty", file));
  CsvRow header;
  const bool headerless = options.format == "pai" || options.format == "auto" ? is_pai_without_header(text) : false;
  if (headerless) {
    header.fields = split(kPaiColumns, ',');
  } else if (Status status = reader.next(header); !status) {
    return std::move(status).error().with_context(file);
  }
  for (std::string& name : header.fields) name = std::string(trim(name));
  const Columns columns(header.fields);
  const CsvForm* form = options.format == "auto" ? form_of(columns) : form_named(options.format);
  if (form == nullptr) {
    return Error::invalid(fmt::format(
        "{}:1: no known form of workload has the columns {}; our own needs id, submit_s, duration_s, gpus "
        "(forms: {})",
        file, quote(fmt::format("{}", fmt::join(columns.names(), ",")), 200), fmt::join(format_names(), ", ")));
  }
  for (const std::string& column : form->columns) {
    if (!columns.has(column)) {
      return Error::invalid(fmt::format("{}:1: no column {}{}; {} needs {}", file, quote(column),
                                        did_you_mean(column, columns.names()), form->name,
                                        fmt::join(form->columns, ", ")));
    }
  }
  result.format = form->name;
  ORRERY_TRY_VOID(read_rows(reader, columns, *form, options, sink));
  result.unread = columns.unread();
  return {};
}

}  // namespace

const std::vector<JobTraceFormat>& job_trace_formats() {
  static const std::vector<JobTraceFormat> kFormats = [] {
    std::vector<JobTraceFormat> formats;
    for (const CsvForm& form : csv_forms()) formats.push_back({form.name, form.summary});
    for (const TextForm& form : kTextForms) formats.push_back({std::string(form.name), std::string(form.summary)});
    return formats;
  }();
  return kFormats;
}

Result<JobTraceFile> read_job_trace(std::string_view text, const std::string& file, const ReadOptions& options) {
  const std::vector<std::string> names = format_names();
  if (options.format != "auto" && std::find(names.begin(), names.end(), options.format) == names.end()) {
    return Error::not_found(fmt::format("no form of workload {}{} (forms: {})", quote(options.format),
                                        did_you_mean(options.format, names), fmt::join(names, ", ")));
  }
  JobTraceFile result;
  JobSink sink(result, file, options);
  const TextForm* form = options.format == "auto" ? looks_like(text) : nullptr;
  for (const TextForm& known : kTextForms) {
    if (known.name == options.format) form = &known;
  }
  if (form != nullptr) {
    result.format = form->name;
    ORRERY_TRY_VOID(form->read(text, sink));
  } else {
    ORRERY_TRY_VOID(read_csv(text, file, options, result, sink));
  }
  if (result.job_trace.jobs.empty()) {
    const std::string first =
        result.problems.empty() ? "" : fmt::format("; line {}: {}", result.problems[0].line, result.problems[0].what);
    return Error::invalid(fmt::format("{}: no job in {} rows of form {}{}", file, result.rows, result.format, first));
  }
  result.job_trace.name = file;
  normalise(result.job_trace);
  return result;
}

}  // namespace orrery::simulate
