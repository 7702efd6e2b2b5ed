#pragma once
// A ring of frames that one rank writes and all others read.
//
// The ring consists of lines of 64 bytes. A frame takes one line, its payload those that follow; it never wraps around
// the end. The first word of a line is a stamp: its position + 1, written last, so that a reader needs to look only at
// the line where the next frame will be. Before a frame is stamped, the stamp of the line after it is cleared, so that
// old payload is never taken for a frame.
//
// A reader publishes how far it has read in its own line. The writer does not pass the slowest reader: a frame that
// does not fit has to wait (credit, not memory).

#include <optional>
#include <span>
#include <vector>

#include "elastic/frame.h"
#include "elastic/host/segment.h"

namespace orrery::elastic {

class FrameRingWriter {
 public:
  // `readers` are slots. No process may be using the ring; it is emptied.
  FrameRingWriter(Segment& segment, int slot, std::vector<int> readers);

  // Returns false if there is no space for the frame and its payload.
  bool send(const Frame& frame, std::span<const std::byte> payload);

 private:
  bool has_room(std::uint64_t lines);
  std::byte* line(std::uint64_t position) { return ring_ + position % lines_ * kLine; }
  void write(const Frame& frame, std::uint64_t lines);

  SlotControl& control_;
  std::byte* ring_;
  std::uint64_t lines_;
  std::vector<int> readers_;
  std::uint64_t head_ = 0;      // position of the next frame
  std::uint64_t consumed_ = 0;  // by the slowest reader, when last looked at
};

class FrameRingReader {
 public:
  // Reads the ring of `writer` as `reader`, both slots, from its beginning.
  FrameRingReader(Segment& segment, int writer, int reader);

  struct Received {
    Frame frame;
    std::span<const std::byte> payload;  // valid until pop()
  };
  // The next frame, if there is one. Returns an error if the ring holds what no writer writes.
  Result<std::optional<Received>> peek();
  void pop();

 private:
  const std::byte* ring_;
  std::uint64_t lines_;
  std::atomic<std::uint64_t>& published_;
  std::uint64_t cursor_ = 0;
  std::uint64_t size_ = 0;  // lines of the frame at the cursor
};

}  // namespace orrery::elastic
