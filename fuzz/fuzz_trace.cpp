// Any bytes are a trace or an error. What is read adds up, and is the same when written and read again.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trace/analysis.h"
#include "trace/chrome_reader.h"
#include "trace/trace_writers.h"

namespace {

using namespace orrery::trace;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_iteration(const Analysis& analysis, const Iteration& iteration) {
  const IterationSummary s = analysis.summary(iteration);
  require(s.span_ns >= 0 && s.busy_ns >= 0 && s.idle_ns >= 0 && s.busy_ns + s.idle_ns == s.span_ns);
  require(s.overlap_ns <= s.communication_ns && s.communication_ns <= s.busy_ns && s.launch_gap_ns <= s.idle_ns);
  const ExecutionTrace trace = analysis.execution_trace(iteration);
  for (const TracedOperator& op : trace.operators) {
    require(op.execution.value() >= 0 && op.start.value() >= 0 && std::isfinite(op.gap.value()));
  }
}

void check_chrome(std::string_view bytes) {
  const auto log = read_chrome_trace(bytes);
  if (!log) return require(!log.error().message().empty());
  const Analysis analysis(*log);
  for (const Iteration& iteration : analysis.iterations().list) check_iteration(analysis, iteration);
  ChromeReadOptions everything;
  everything.keep_python = true;
  const auto again = read_chrome_trace(write_chrome_trace(*log), everything);
  require(again && again->events.size() == log->events.size());
  require(write_perfetto_trace(*log).empty() == log->tracks.empty());
}

void check_own(std::string_view bytes) {
  const auto file = parse_trace_file(bytes);
  if (!file) return require(!file.error().message().empty());
  const std::string text = write_trace_file(*file);
  const auto again = parse_trace_file(text);
  require(again && write_trace_file(*again) == text);
  const EventLog log = events_of(*file);
  const Analysis analysis(log);
  for (const Iteration& iteration : analysis.iterations().list) check_iteration(analysis, iteration);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (is_trace_file(bytes)) {
    check_own(bytes);
  } else {
    check_chrome(bytes);
  }
  return 0;
}
