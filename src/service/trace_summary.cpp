#include <fmt/format.h>

#include "service/traces.h"

namespace orrery::service {

using trace::IterationSummary;

namespace {

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) * 1e-9;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::vector<Column> summary_columns(bool several) {
  return {{"file", "file", CellFormat::kText, several},
          {"iteration", "iteration"},
          {"host_s", "host", CellFormat::kSeconds},
          {"span_s", "span", CellFormat::kSeconds},
          {"kernel_s", "kernels", CellFormat::kSeconds},
          {"busy_s", "busy", CellFormat::kSeconds},
          {"idle_share", "idle", CellFormat::kPercent},
          {"launch_gap_share", "launch gaps", CellFormat::kPercent},
          {"communication_share", "communication", CellFormat::kPercent},
          {"overlap_share", "of it overlapped", CellFormat::kPercent},
          {"memcpy_share", "copies", CellFormat::kPercent},
          {"work", "pieces of work", CellFormat::kInteger, false},
          {"span_ns", "", CellFormat::kInteger, false},
          {"kernel_ns", "", CellFormat::kInteger, false},
          {"busy_ns", "", CellFormat::kInteger, false},
          {"idle_ns", "", CellFormat::kInteger, false},
          {"launch_gap_ns", "", CellFormat::kInteger, false},
          {"communication_ns", "", CellFormat::kInteger, false},
          {"overlap_ns", "", CellFormat::kInteger, false},
          {"memcpy_ns", "", CellFormat::kInteger, false},
          {"rule", "found by", CellFormat::kText, false}};
}

std::vector<Cell> summary_row(const std::string& path, const IterationSummary& s, trace::IterationRule rule) {
  return {path,
          s.name,
          seconds(s.host_ns),
          seconds(s.span_ns),
          seconds(s.kernel_ns),
          seconds(s.busy_ns),
          share(s.idle_ns, s.span_ns),
          share(s.launch_gap_ns, s.span_ns),
          share(s.communication_ns, s.span_ns),
          share(s.overlap_ns, s.communication_ns),
          share(s.memcpy_ns, s.span_ns),
          s.work,
          s.span_ns,
          s.kernel_ns,
          s.busy_ns,
          s.idle_ns,
          s.launch_gap_ns,
          s.communication_ns,
          s.overlap_ns,
          s.memcpy_ns,
          std::string(to_string(rule))};
}

Table stream_table(bool several) {
  return Table({{"file", "file", CellFormat::kText, several},
                {"iteration", "iteration"},
                {"stream", "stream"},
                {"work", "pieces of work", CellFormat::kInteger},
                {"busy_s", "busy", CellFormat::kSeconds},
                {"busy_share", "of the span", CellFormat::kPercent},
                {"busy_ns", "", CellFormat::kInteger, false}});
}

void add_streams(Table& table, const std::string& path, const IterationSummary& s) {
  for (const trace::StreamSummary& stream : s.streams) {
    table.add({path, s.name, stream.track, stream.work, seconds(stream.busy_ns), share(stream.busy_ns, s.span_ns),
               stream.busy_ns});
  }
}

}  // namespace

const Fields<TraceSummaryRequest>& trace_summary_fields() {
  using T = TraceSummaryRequest;
  static const auto kFields =
      Fields<T>()
          .add(&T::files, trace_option("files").list(64))
          .add(&T::streams, flag_option("streams", "one row per stream of the device instead of one per iteration"));
  return kFields;
}

Result<TraceAnswer> summarise_traces(env::Env env, const TraceSummaryRequest& request) {
  const bool several = request.files.size() > 1;
  TraceAnswer answer{request.streams ? stream_table(several) : Table(summary_columns(several)), {}, {}};
  for (const std::string& path : request.files) {
    ORRERY_TRY(const LoadedTrace loaded, load_trace(env, path));
    for (const IterationSummary& s : loaded.summaries) {
      if (request.streams) add_streams(answer.table, path, s);
      if (!request.streams) answer.table.add(summary_row(path, s, loaded.rule));
    }
    for (std::string& line : warning_lines(path, loaded.log)) answer.warnings.push_back(std::move(line));
  }
  return answer;
}

}  // namespace orrery::service
