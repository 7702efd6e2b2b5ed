#pragma once
// Turns the events of a Chrome trace, in the order of the file, into an EventLog.

#include <string>
#include <unordered_map>

#include "trace/chrome_event.h"
#include "trace/chrome_reader.h"

namespace orrery::trace {

class LogBuilder {
 public:
  explicit LogBuilder(const ChromeReadOptions& options) : options_(options) {}

  Status add(const ChromeEvent& event, std::uint64_t offset);
  void set_device(const std::string& name);
  // Repairs what can only be seen at the end: open ranges, clocks that jump.
  EventLog finish(std::uint64_t bytes_read) &&;

 private:
  Status add_range(const ChromeEvent& event, std::uint64_t offset);
  Status add_begin(const ChromeEvent& event, std::uint64_t offset);
  Status add_end(const ChromeEvent& event, std::uint64_t offset);
  Status add_label(const ChromeEvent& event);
  Status append(const ChromeEvent& event, std::uint64_t offset);
  Result<std::uint32_t> track_of(const ChromeEvent& event);
  Result<std::uint32_t> find_track(const ChromeEvent& event);
  std::uint32_t id_of(std::int64_t number, std::uint64_t offset);
  std::uint32_t name_of(std::string_view name, std::uint64_t offset);
  std::uint32_t shapes_of(std::string_view json);
  void warn(std::string_view what, std::uint64_t offset, std::uint64_t count = 1);
  void close_open_ranges();
  void drop_far_events();

  ChromeReadOptions options_;
  EventLog log_;
  std::unordered_map<std::string, std::uint32_t> tracks_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> open_;  // begun events by track
  std::string scratch_;
  // Most events come from the thread of the one before.
  std::string last_process_, last_thread_;
  std::uint32_t last_track_ = 0;
};

}  // namespace orrery::trace
