// The fields of Perfetto's protobuf that are written, by number (perfetto/trace/trace_packet.proto and
// perfetto/trace/track_event/*.proto):
//
//   Trace            1 packet
//   TracePacket      8 timestamp (ns), 10 trusted_packet_sequence_id, 11 track_event, 60 track_descriptor
//   TrackDescriptor  1 uuid, 2 name
//   TrackEvent       9 type (1 begin, 2 end), 11 track_uuid, 22 categories, 23 name

#include <algorithm>
#include <fmt/format.h>

#include "trace/trace_writers.h"

namespace orrery::trace {

namespace {

enum Wire : std::uint32_t { kVarint = 0, kBytes = 2 };
constexpr std::uint64_t kSequence = 1;
constexpr std::uint64_t kBegin = 1, kEnd = 2;

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_varint(out, field << 3 | kVarint);
  put_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_varint(out, field << 3 | kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// 0 is Perfetto's default track.
std::uint64_t uuid_of(std::uint32_t track) {
  return std::uint64_t{track} + 1;
}

void put_track(std::string& out, const Track& track, std::uint32_t index) {
  std::string descriptor, packet;
  put_number(descriptor, 1, uuid_of(index));
  put_bytes(descriptor, 2, fmt::format("{} {}", track.process, track.name.empty() ? track.thread : track.name));
  put_number(packet, 10, kSequence);
  put_bytes(packet, 60, descriptor);
  put_bytes(out, 1, packet);
}

void put_event(std::string& out, const EventLog& log, const Event& event, std::uint64_t type, std::int64_t time_ns) {
  std::string body, packet;
  put_number(body, 9, type);
  put_number(body, 11, uuid_of(event.track));
  if (type == kBegin) put_bytes(body, 22, to_string(event.category));
  if (type == kBegin) put_bytes(body, 23, log.name(event));
  put_number(packet, 8, static_cast<std::uint64_t>(time_ns));
  put_number(packet, 10, kSequence);
  put_bytes(packet, 11, body);
  put_bytes(out, 1, packet);
}

// By track, outer before inner.
std::vector<const Event*> nested_order(const EventLog& log) {
  std::vector<const Event*> order;
  for (const Event& event : log.events) order.push_back(&event);
  std::stable_sort(order.begin(), order.end(), [](const Event* a, const Event* b) {
    if (a->track != b->track) return a->track < b->track;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    return a->duration_ns > b->duration_ns;
  });
  return order;
}

// Ends come innermost first, before whatever begins at the same time; an inner one that outlives its outer ends later.
class SliceWriter {
 public:
  // Perfetto's clock starts at 0; a trace that starts before is moved there.
  SliceWriter(const EventLog& log, std::string& out) : log_(log), out_(out) {
    for (const Event& event : log.events) zero_ns_ = std::min(zero_ns_, event.start_ns);
  }

  void begin(const Event& event) {
    if (!open_.empty() && open_.back()->track != event.track) end_all();
    while (!open_.empty() && open_.back()->end_ns() <= event.start_ns) end_last();
    put_event(out_, log_, event, kBegin, event.start_ns - zero_ns_);
    open_.push_back(&event);
  }
  void end_all() {
    while (!open_.empty()) end_last();
  }

 private:
  void end_last() {
    put_event(out_, log_, *open_.back(), kEnd, open_.back()->end_ns() - zero_ns_);
    open_.pop_back();
  }

  const EventLog& log_;
  std::string& out_;
  std::vector<const Event*> open_;
  std::int64_t zero_ns_ = 0;
};

}  // namespace

std::string write_perfetto_trace(const EventLog& log) {
  std::string out;
  for (std::uint32_t i = 0; i < log.tracks.size(); ++i) put_track(out, log.tracks[i], i);
  SliceWriter writer(log, out);
  for (const Event* event : nested_order(log)) writer.begin(*event);
  writer.end_all();
  return out;
}

}  // namespace orrery::trace
