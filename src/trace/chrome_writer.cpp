#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "trace/trace_writers.h"

namespace orrery::trace {

namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Microseconds with all nanoseconds, exactly.
std::string microseconds_of(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

std::string arguments_of(const EventLog& log, const Event& event) {
  std::string text;
  const auto add = [&text](std::string_view key, std::int64_t value) {
    if (value >= 0) text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", key, value);
  };
  if (event.external_id != kNoId) add("External id", event.external_id);
  if (event.correlation != kNoId) add("correlation", event.correlation);
  if (is_device_work(event.category)) add("stream", log.tracks[event.track].stream);
  add("bytes", log.bytes(event));
  if (const std::string& shapes = log.input_shapes(event); !shapes.empty()) {
    text += fmt::format("{}\"Input Dims\":{}", text.empty() ? "" : ",", shapes);
  }
  return text;
}

}  // namespace

std::string write_chrome_trace(const EventLog& log) {
  std::string text = "{\"schemaVersion\":1,";
  if (!log.device.empty()) text += fmt::format("\"deviceProperties\":[{{\"id\":0,\"name\":{}}}],", quoted(log.device));
  text += "\"traceEvents\":[";
  std::vector<std::string> places;  // pid and tid of each track
  const char* separator = "\n";
  for (const Track& track : log.tracks) {
    places.push_back(fmt::format("\"pid\":{},\"tid\":{}", quoted(track.process), quoted(track.thread)));
    if (track.name.empty()) continue;
    text += fmt::format("{}{{\"ph\":\"M\",\"name\":\"thread_name\",{},\"args\":{{\"name\":{}}}}}", separator,
                        places.back(), quoted(track.name));
    separator = ",\n";
  }
  for (const Event& event : log.events) {
    fmt::format_to(std::back_inserter(text),
                   "{}{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}", separator,
                   to_string(event.category), quoted(log.name(event)), places[event.track],
                   microseconds_of(event.start_ns), microseconds_of(event.duration_ns), arguments_of(log, event));
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace orrery::trace
