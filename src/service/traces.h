#pragma once
// Execution traces in files: any form that can be read, with its iterations; as tables, compared, converted.

#include "base/fields.h"
#include "base/table.h"
#include "env/env.h"
#include "trace/analysis.h"
#include "trace/trace_file.h"

namespace orrery::service {

struct LoadedTrace {
  trace::EventLog log;
  trace::TraceFile file;  // the iterations
  std::vector<trace::IterationSummary> summaries;
  trace::IterationRule rule = trace::IterationRule::kSteps;
  bool on_device = false;
};

// Reads a file of ours, or Chrome's JSON, plain or gzip. An error if there is no work in it.
Result<LoadedTrace> load_trace(env::Env env, const std::string& path);
// Its events alone, Python functions included.
Result<trace::EventLog> load_events(env::Env env, const std::string& path);
// What was mended or left out, for people.
std::vector<std::string> warning_lines(const std::string& path, const trace::EventLog& log);

// A word of a request that names a trace.
OptionRecord trace_option(std::string name = "file");

enum class TraceForm { kChrome, kPerfetto, kOrrery };
// By how a file name ends.
Result<TraceForm> trace_form(const std::string& path);
// Our own trace in that form.
std::string write_trace(const trace::TraceFile& file, TraceForm form);

struct TraceConvertRequest {
  FieldNames names;
  std::string file;
  std::optional<TraceForm> to;

  friend bool operator==(const TraceConvertRequest&, const TraceConvertRequest&) = default;
};
const Fields<TraceConvertRequest>& trace_convert_fields();
// The content of the converted file.
Result<std::string> convert_trace(env::Env env, const TraceConvertRequest& request);

struct TraceShowRequest {
  FieldNames names;
  std::string file;
  std::optional<std::int64_t> iteration;  // counted from 1; nothing: the mean of all
  std::optional<std::int64_t> top;        // rows; nothing: all
  bool in_order = false;

  friend bool operator==(const TraceShowRequest&, const TraceShowRequest&) = default;
};
const Fields<TraceShowRequest>& trace_show_fields();

struct TraceAnswer {
  Table table;
  std::string totals;                 // for people; empty: there are none
  std::vector<std::string> warnings;  // lines
};
// One row per kind of operator and phase, or per operator in order.
Result<TraceAnswer> show_trace(env::Env env, const TraceShowRequest& request);

struct TraceSummaryRequest {
  FieldNames names;
  std::vector<std::string> files;
  bool streams = false;

  friend bool operator==(const TraceSummaryRequest&, const TraceSummaryRequest&) = default;
};
const Fields<TraceSummaryRequest>& trace_summary_fields();
// One row per iteration, or per stream of its device.
Result<TraceAnswer> summarise_traces(env::Env env, const TraceSummaryRequest& request);

struct TraceCompareRequest {
  FieldNames names;
  std::string first, second;
  std::optional<std::int64_t> iteration;

  friend bool operator==(const TraceCompareRequest&, const TraceCompareRequest&) = default;
};
const Fields<TraceCompareRequest>& trace_compare_fields();

struct TraceComparison {
  Table table;
  trace::ExecutionTrace first, second;  // the first iteration of each that was compared
};
Result<TraceComparison> compare_traces(env::Env env, const TraceCompareRequest& request);

}  // namespace orrery::service
