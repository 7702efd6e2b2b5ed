#include "elastic/host/frame_ring.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "base/check.h"

namespace orrery::elastic {

namespace {

// The kind of a frame that only fills the end of the ring; its offset is the number of lines.
constexpr auto kSkip = static_cast<FrameKind>(0xff);

std::uint64_t lines_of(std::uint64_t payload_bytes) {
  return 1 + (payload_bytes + kLine - 1) / kLine;
}

std::atomic<std::uint64_t>& stamp_of(std::byte* line) {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(line);
}

const std::atomic<std::uint64_t>& stamp_of(const std::byte* line) {
  return *reinterpret_cast<const std::atomic<std::uint64_t>*>(line);
}

}  // namespace

static_assert(sizeof(std::atomic<std::uint64_t>) + sizeof(Frame) == kLine);

FrameRingWriter::FrameRingWriter(Segment& segment, int slot, std::vector<int> readers)
    : control_(segment.control(slot)),
      ring_(segment.ring(slot)),
      lines_(segment.options().ring_bytes / kLine),
      readers_(std::move(readers)) {
  for (SlotControl::Cursor& reader : control_.readers) reader.consumed.store(0, std::memory_order_relaxed);
  stamp_of(ring_).store(0, std::memory_order_relaxed);
}

bool FrameRingWriter::has_room(std::uint64_t lines) {
  if (head_ + lines <= consumed_ + lines_) return true;
  std::uint64_t slowest = head_;
  for (const int reader : readers_) {
    slowest = std::min(slowest, control_.readers[reader].consumed.load(std::memory_order_acquire));
  }
  consumed_ = slowest;
  return head_ + lines <= consumed_ + lines_;
}

void FrameRingWriter::write(const Frame& frame, std::uint64_t lines) {
  std::byte* const at = line(head_);
  std::memcpy(at + sizeof(std::uint64_t), &frame, sizeof frame);
  stamp_of(line(head_ + lines)).store(0, std::memory_order_relaxed);
  stamp_of(at).store(head_ + 1, std::memory_order_release);
  head_ += lines;
}

bool FrameRingWriter::send(const Frame& frame, std::span<const std::byte> payload) {
  const std::uint64_t need = lines_of(payload.size());
  const std::uint64_t to_end = lines_ - head_ % lines_;
  const std::uint64_t skipped = need > to_end ? to_end : 0;
  if (!has_room(skipped + need + 1)) return false;
  if (skipped > 0) {
    Frame skip;
    skip.kind = kSkip;
    skip.offset = skipped;
    write(skip, skipped);
  }
  if (!payload.empty()) std::memcpy(line(head_) + kLine, payload.data(), payload.size());
  write(frame, need);
  return true;
}

FrameRingReader::FrameRingReader(Segment& segment, int writer, int reader)
    : ring_(segment.ring(writer)),
      lines_(segment.options().ring_bytes / kLine),
      published_(segment.control(writer).readers[reader].consumed) {}

Result<std::optional<FrameRingReader::Received>> FrameRingReader::peek() {
  for (;;) {
    const std::uint64_t at = cursor_ % lines_;
    const std::byte* const line = ring_ + at * kLine;
    if (stamp_of(line).load(std::memory_order_acquire) != cursor_ + 1) return std::optional<Received>();
    Received received;
    std::memcpy(&received.frame, line + sizeof(std::uint64_t), sizeof(Frame));
    if (received.frame.kind == kSkip) {
      if (received.frame.offset != lines_ - at) return Error::invalid("a damaged ring of frames");
      cursor_ += received.frame.offset;
      continue;
    }
    const std::uint64_t payload = received.frame.kind == FrameKind::kAnnounce ? received.frame.bytes : 0;
    size_ = lines_of(payload);
    if (size_ > lines_ - at) return Error::invalid(fmt::format("a frame of {} bytes leaves its ring", payload));
    received.payload = {line + kLine, payload};
    return std::optional<Received>(received);
  }
}

void FrameRingReader::pop() {
  ORRERY_CHECK(size_ > 0);
  cursor_ += size_;
  size_ = 0;
  published_.store(cursor_, std::memory_order_release);
}

}  // namespace orrery::elastic
