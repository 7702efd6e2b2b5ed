#pragma once
// Traces for the viewers of others: Chrome's JSON (chrome://tracing, also readable by read_chrome_trace) and Perfetto's
// protobuf (ui.perfetto.dev). docs/reference/formats/execution_trace.md lists the fields that are written.

#include <string>

#include "trace/event_log.h"
#include "trace/trace_file.h"

namespace orrery::trace {

std::string write_chrome_trace(const EventLog& log);

// One track per thread or stream; every event is a slice with its category. Slices of a track nest: where two overlap
// without nesting (possible only in damaged traces) the viewer may draw them differently.
std::string write_perfetto_trace(const EventLog& log);

// The operators of our own trace as events: iterations one after the other, each in a range `ProfilerStep#N`, operators
// of a phase inside the ranges by which readers tell phases. An operator that overlaps the next one (negative gap) is
// cut where the next one starts.
EventLog events_of(const TraceFile& file);

}  // namespace orrery::trace
