#pragma once
// Trace files on the command line: any form that can be read, with its iterations.

#include "cli/command.h"
#include "trace/analysis.h"
#include "trace/trace_file.h"

namespace orrery::cli {

struct LoadedTrace {
  trace::EventLog log;
  trace::TraceFile file;  // the iterations
  std::vector<trace::IterationSummary> summaries;
  trace::IterationRule rule = trace::IterationRule::kSteps;
  bool on_device = false;
};

// Reads a file of ours, or Chrome's JSON, plain or gzip. An error if there is no work in it.
Result<LoadedTrace> load_trace(Context& context, const std::string& path);
// Its events alone, Python functions included.
Result<trace::EventLog> load_events(Context& context, const std::string& path);

// "orrery", "perfetto" or "chrome", by how a file name ends.
Result<std::string> trace_form(const std::string& path);
// Our own trace in that form.
std::string write_trace_as(const trace::TraceFile& file, const std::string& form);

// For people: what was mended or left out, one line each.
void print_warnings(Context& context, const std::string& path, const trace::EventLog& log, const OptionValues& options);

}  // namespace orrery::cli
