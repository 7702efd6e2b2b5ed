#pragma once
// Reads the trace files of PyTorch's profiler (Kineto) and other tools that write Chrome's JSON: an object with
// "traceEvents" or a bare list, plain or gzip, of any size. Memory grows with the events kept, not with the file.
//
// Kept are complete events ("X") and pairs of "B" and "E"; metadata names the tracks; flows, instants and counters are
// skipped. Oddities of the file (no time, no duration, a clock that jumps) are repaired or left out and listed in
// EventLog::warnings; a file that is not JSON, too large or cut off is an error with its byte offset.

#include <string>

#include "base/result.h"
#include "env/files.h"
#include "trace/event_log.h"

namespace orrery::trace {

struct ChromeReadOptions {
  std::uint64_t events_max = 200'000'000;
  std::size_t name_bytes_max = 4096;       // longer names are cut
  std::size_t text_bytes_max = 512 << 20;  // of all different names together
  std::size_t tracks_max = 1 << 20;
  bool keep_python = false;  // Python functions are as many as everything else together
};

Result<EventLog> read_chrome_trace(env::ReadHandle& file, const ChromeReadOptions& options = {});
Result<EventLog> read_chrome_trace(std::string_view bytes, const ChromeReadOptions& options = {});

// The category of an event by what its tool calls it, for the spellings of all versions of the profiler.
EventCategory category_of(std::string_view category, std::string_view name);

}  // namespace orrery::trace
