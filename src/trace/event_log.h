#pragma once
// EventLog: what a profiler of another tool recorded, as compact records.
//
// Names, tracks and details are kept once and referred to by number, so that a log of millions of events costs
// sizeof(Event) for each. Times are whole nanoseconds on the clock of the recorder.

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace orrery::trace {

enum class EventCategory : std::uint8_t {
  kOperator,          // of the framework, on the host
  kAnnotation,        // a named range on the host: a step, the optimizer, user code
  kRuntime,           // a call into the device's runtime or driver
  kKernel,            // on the device
  kMemcpy,            // on the device
  kMemset,            // on the device
  kDeviceAnnotation,  // a host range as seen on the device
  kPython,            // a Python function
  kOther,
};
std::string_view to_string(EventCategory category);
// Kernels, copies and fills: what keeps a device busy.
bool is_device_work(EventCategory category);

inline constexpr std::uint32_t kNoId = 0xFFFFFFFF;

struct Event {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;       // never negative
  std::uint32_t correlation = kNoId;  // ties a device event to the runtime call that launched it
  std::uint32_t external_id = kNoId;  // of the operator, if the recorder gave one
  std::uint32_t name = 0;             // in EventLog::names
  std::uint32_t detail = 0;           // in EventLog::details
  std::uint32_t track = 0;            // in EventLog::tracks
  EventCategory category = EventCategory::kOther;

  std::int64_t end_ns() const { return start_ns + duration_ns; }
};

// Details that only some events have.
struct EventDetail {
  std::uint32_t shapes = 0;  // of the inputs, in EventLog::shapes; 0: none
  std::int64_t bytes = -1;   // moved by a copy, a fill or a collective; -1: not known
  friend auto operator<=>(const EventDetail&, const EventDetail&) = default;
};

// A thread of the host or a stream of the device.
struct Track {
  std::string process;
  std::string thread;
  std::string name;          // if the file gives one
  std::int64_t stream = -1;  // -1: not a stream
};

// Something in the file that was repaired or left out: how often, and where it was first.
struct TraceWarning {
  std::string what;
  std::uint64_t count = 0;
  std::uint64_t first_offset = 0;  // in the file, after decompression
};

// Texts by number, each kept once. References stay valid.
class TextTable {
 public:
  TextTable() { intern(""); }
  TextTable(TextTable&&) = default;  // a copy's index would refer to the texts of the original
  TextTable& operator=(TextTable&&) = default;

  std::uint32_t intern(std::string_view text);
  // kNoId if it was never interned.
  std::uint32_t find(std::string_view text) const;
  const std::string& operator[](std::uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;
  std::size_t bytes_ = 0;
};

// Details by number, each kept once; 0 is that of events without details.
class DetailTable {
 public:
  DetailTable() { intern({}); }

  std::uint32_t intern(const EventDetail& detail);
  const EventDetail& operator[](std::uint32_t id) const { return details_[id]; }

 private:
  std::vector<EventDetail> details_;
  std::map<EventDetail, std::uint32_t> ids_;
};

struct EventLog {
  std::deque<Event> events;  // in the order of the file
  TextTable names;
  TextTable shapes;  // as JSON: [[32,3,224,224],[]]
  DetailTable details;
  std::vector<Track> tracks;
  std::string device;                  // "Tesla V100-DGXS-32GB", if the file names it
  std::vector<TraceWarning> warnings;  // at most one of each kind
  std::uint64_t bytes_read = 0;        // of the file, after decompression

  const std::string& name(const Event& event) const { return names[event.name]; }
  const std::string& input_shapes(const Event& event) const { return shapes[details[event.detail].shapes]; }
  std::int64_t bytes(const Event& event) const { return details[event.detail].bytes; }
};

}  // namespace orrery::trace
