#pragma once
// Our own trace files: JSON, format "orrery-trace", version 1. docs/reference/formats/execution_trace.md describes
// every field.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/execution_trace.h"

namespace orrery::trace {

// Iterations in the order they ran, each with its name.
struct TraceFile {
  std::vector<std::string> names;
  std::vector<ExecutionTrace> iterations;  // as many as names
};

std::string write_trace_file(const TraceFile& file);

// The inverse of write_trace_file. Unknown fields are ignored; a missing or wrong one is named with its path.
Result<TraceFile> parse_trace_file(std::string_view text);

// Whether a file declares itself one of ours, by its first bytes.
bool is_trace_file(std::string_view beginning);

}  // namespace orrery::trace
